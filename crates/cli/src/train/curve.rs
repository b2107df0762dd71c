//! A curve in a line of text.

/// Columns that a line takes at most.
const WIDTH: usize = 50;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Numbers as blocks of eight heights, on a logarithmic scale if all are positive. What is not finite is a space.
pub(super) fn blocks(values: &[f64]) -> String {
    let columns = values.len().min(WIDTH);
    let log = values.iter().all(|v| *v > 0.0);
    let means = (0..columns).map(|column| {
        let part = &values[column * values.len() / columns..(column + 1) * values.len() / columns];
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        if log { mean.ln() } else { mean }
    });
    let means: Vec<f64> = means.collect();
    let finite = || means.iter().copied().filter(|v| v.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    let block = |v: f64| {
        if !v.is_finite() {
            return ' ';
        }
        let height = if high > low { (v - low) / (high - low) } else { 0.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 7"
        )]
        let place = (height * 7.0).round() as usize;
        BLOCKS[place.min(7)]
    };
    means.iter().map(|&v| block(v)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_have_heights() {
        assert_eq!(blocks(&[]), "");
        assert_eq!(blocks(&[3.0]), "▁");
        assert_eq!(blocks(&[128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0]), "█▇▆▅▄▃▂▁");
        assert_eq!(blocks(&[1.0, f64::NAN, 0.0]), "█ ▁");
        let long: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!(blocks(&long).chars().count(), WIDTH);
    }
}
