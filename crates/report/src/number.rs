//! Round numbers for axes, and numbers as people read them.

/// An interval of an axis with a positive length, even if the data have none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Larger values are drawn at this one, so that distances stay finite.
const MOST: f64 = 1e300;

/// Smaller distances count as none, so that their inverse stays finite.
const LEAST: f64 = 1e-290;

impl Range {
    /// The interval that holds all finite values.
    pub(crate) fn covering(values: impl IntoIterator<Item = f64>) -> Self {
        let finite = values.into_iter().filter(|v| v.is_finite()).map(|v| v.clamp(-MOST, MOST));
        let empty = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = finite.fold(empty, |(low, high), v| (low.min(v), high.max(v)));
        if low > high { Self { low: 0.0, high: 1.0 } } else { Self { low, high }.widened() }
    }

    /// With room around a single value.
    fn widened(self) -> Self {
        let size = self.low.abs().max(self.high.abs());
        if self.high - self.low > (size * 1e-9).max(LEAST) {
            return self;
        }
        let room = if size <= LEAST { 1.0 } else { size * 0.1 };
        Self { low: self.low - room, high: self.high + room }
    }

    pub(crate) fn length(self) -> f64 {
        self.high - self.low
    }

    /// With a part of the length added at both ends.
    pub(crate) fn padded(self, part: f64) -> Self {
        let room = self.length() * part;
        Self { low: self.low - room, high: self.high + room }
    }

    /// With a part of the length added at the high end.
    pub(crate) fn raised(self, part: f64) -> Self {
        Self { high: self.high + self.length() * part, ..self }
    }

    /// Where a value lies: 0 at the low end, 1 at the high one.
    pub(crate) fn position(self, value: f64) -> f64 {
        (value.clamp(-MOST, MOST) - self.low) / self.length()
    }

    /// Round numbers inside, about `count` of them.
    pub(crate) fn ticks(self, count: usize) -> Ticks {
        let step = round_step(self.length() / count.max(1) as f64);
        let first = (self.low / step - 1e-9).ceil();
        let values = (0..=2 * count + 2)
            .map(|i| (first + i as f64) * step)
            .take_while(|v| *v <= self.high + step * 1e-9)
            .map(|v| v + 0.0)
            .collect();
        Ticks { values, step }
    }
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Round numbers of an axis.
#[derive(Clone, Debug)]
pub(crate) struct Ticks {
    pub(crate) values: Vec<f64>,
    step: f64,
}

impl Ticks {
    /// The values with as many decimals as their distance needs.
    pub(crate) fn labels(&self) -> Vec<String> {
        let largest = self.values.iter().fold(0f64, |m, v| m.max(v.abs()));
        let plain = largest < 1e6 && self.step >= 1e-4;
        self.values.iter().map(|&v| self.label(v, plain)).collect()
    }

    fn label(&self, value: f64, plain: bool) -> String {
        let power = self.step.log10().floor();
        if plain {
            return signed(&format!("{value:.*}", decimals(-power)));
        }
        if value.abs() < self.step / 2.0 {
            return "0".to_owned();
        }
        signed(&format!("{value:.*e}", decimals(value.abs().log10().floor() - power)))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0..=15")]
fn decimals(wanted: f64) -> usize {
    wanted.clamp(0.0, 15.0) as usize
}

/// With a minus sign instead of a hyphen.
fn signed(text: &str) -> String {
    text.replace('-', "−")
}

/// Without zeros that end a fraction.
fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// A number with four significant digits, in plain notation where that is short.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if value.is_nan() {
        "not a number".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "∞".to_owned() } else { "−∞".to_owned() }
    } else if (1e-3..1e5).contains(&size) {
        let plain = format!("{value:.*}", decimals(3.0 - size.log10().floor()));
        signed(trimmed(&plain))
    } else {
        let long = format!("{value:.2e}");
        let (digits, power) = long.split_once('e').unwrap_or((&long, "0"));
        signed(&format!("{}e{power}", trimmed(digits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        for (low, high) in
            [(0.0, 1.0), (-3.2, 7.9), (0.013, 0.017), (1e9, 1e9 + 4.0), (-1e300, 1e300)]
        {
            let range = Range::covering([low, high]);
            let ticks = range.ticks(6);
            assert!((3..=13).contains(&ticks.values.len()), "{low}..{high}: {ticks:?}");
            assert!(
                ticks
                    .values
                    .iter()
                    .all(|v| (0.0..=1.0 + 1e-9).contains(&(range.position(*v) + 1e-9)))
            );
            let labels = ticks.labels();
            let mut once = labels.clone();
            once.dedup();
            assert_eq!(labels, once, "labels differ");
        }
        assert_eq!(
            Range::covering([0.0, 1.0]).ticks(5).labels(),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            Range::covering([-2e-6, 2e-6]).ticks(4).labels(),
            ["−2e−6", "−1e−6", "0", "1e−6", "2e−6"]
        );
    }

    #[test]
    fn ranges_have_a_length_whatever_the_data() {
        let cases: [&[f64]; 6] =
            [&[], &[f64::NAN], &[5.0], &[0.0, 0.0], &[f64::INFINITY, 2.0], &[-f64::MAX, f64::MAX]];
        for values in cases {
            let range = Range::covering(values.iter().copied());
            assert!(range.length() > 0.0 && range.length().is_finite(), "{values:?}: {range:?}");
        }
    }

    #[test]
    fn numbers_read_well() {
        let cases = [
            (0.0, "0"),
            (1234.56, "1235"),
            (-0.012_345, "−0.01235"),
            (0.4, "0.4"),
            (1200.0, "1200"),
            (1.5e9, "1.5e9"),
            (f64::NEG_INFINITY, "−∞"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
