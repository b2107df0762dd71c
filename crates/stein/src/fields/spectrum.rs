//! How much samples vary along the axes of their covariance.

use taste_data::Samples;

use taste_stats::{covariance::Covariance, linear};

use super::rows;
use crate::Error;

/// Samples of more entries have no full covariance.
const MOST_ENTRIES: usize = 4096;
/// Entries that are read at once.
const CHUNK: usize = 1 << 20;

/// The eigenvalues of the covariance of samples with finite entries, in one pass; nothing where it would be too large. The
/// score of the best Gaussian, for any noise, follows from them.
pub fn spectrum(samples: &dyn Samples) -> Result<Option<Vec<f64>>, Error> {
    let entries: usize = samples.sample_shape().iter().product();
    if entries == 0 || entries > MOST_ENTRIES {
        return Ok(None);
    }
    let mut covariance = Covariance::new(entries);
    for chunk in samples.chunks((CHUNK / entries).clamp(1, 4096))? {
        covariance.add(rows::finite(&chunk?, entries).0)?;
    }
    let values = covariance.matrix().and_then(|matrix| linear::eigenvalues(&matrix));
    // Rounding may leave what is zero a little below it.
    Ok(values.map(|values| values.into_iter().map(|v| v.max(0.0)).collect()))
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayD;
    use taste_data::InMemory;

    use super::*;

    #[test]
    fn axes_that_are_turned_keep_their_variances() {
        // (±2, 0) and (0, ±1) in equal parts, turned by 45°.
        let root = std::f32::consts::FRAC_1_SQRT_2;
        let points = [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0f32]];
        let turned = ArrayD::from_shape_fn(vec![4, 2], |at| {
            let [x, y] = points[at[0]];
            root * if at[1] == 0 { x - y } else { x + y }
        });
        let mut found = spectrum(&InMemory::new("cross", turned)).expect("moments").expect("few");
        found.sort_by(f64::total_cmp);
        assert!((found[0] - 0.5).abs() < 1e-6 && (found[1] - 2.0).abs() < 1e-6, "{found:?}");
        let wide = InMemory::new("wide", ArrayD::zeros(vec![2, MOST_ENTRIES + 1]));
        assert_eq!(spectrum(&wide).expect("too large"), None);
    }
}
