//! Colours for numbers. A scale belongs to a data set, never to one image: the same colour means the same
//! value wherever it is used.

use std::fmt;

/// An opaque colour in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
}

impl Colour {
    /// From the three channels.
    pub const fn new(r: u8, g: u8, b: u8) -> Self {
        Self { r, g, b }
    }

    /// A colour given by lightness, chroma and hue in degrees in `OKLab` (Ottosson 2020), where equal steps
    /// look equal.
    fn perceived(lightness: f64, chroma: f64, hue: f64) -> Self {
        let (sin, cos) = hue.to_radians().sin_cos();
        let (a, b) = (chroma * cos, chroma * sin);
        let long = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
        let medium = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
        let short = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
        Self::new(
            gamma(4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short),
            gamma(-1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short),
            gamma(-0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701_0 * short),
        )
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.r, self.g, self.b)
    }
}

/// A linear intensity as a byte of sRGB.
fn gamma(linear: f64) -> u8 {
    let v = linear.clamp(0.0, 1.0);
    byte(if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 })
}

/// A number of 0..1 as a byte; what lies outside is the nearest end.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0..=255")]
pub(crate) fn byte(v: f64) -> u8 {
    (v.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// The colour of an entry that is not a number.
pub const NOT_A_NUMBER: Colour = Colour::new(150, 150, 150);

/// Which colours a scale runs through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// From dark violet through green to light yellow, with evenly rising lightness.
    Sequential,
    /// From blue through near-white to red, equally light at equal distance from the middle.
    Diverging,
}

impl Palette {
    /// The colour at a position from 0 to 1.
    pub fn at(self, position: f64) -> Colour {
        if position.is_nan() {
            return NOT_A_NUMBER;
        }
        let t = position.clamp(0.0, 1.0);
        match self {
            Self::Sequential => {
                let chroma = 0.095 + 0.045 * (2.0 * t - 1.0).powi(2) + 0.05 * t.powi(4);
                Colour::perceived(0.27 + 0.66 * t, chroma, 300.0 - 195.0 * t)
            }
            Self::Diverging => {
                let away = (2.0 * t - 1.0).abs();
                let hue = if t < 0.5 { 260.0 } else { 28.0 };
                Colour::perceived(0.97 - 0.55 * away, 0.16 * away.powf(0.8), hue)
            }
        }
    }
}

/// Colours for the values between two limits; values beyond them take the colour of the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    palette: Palette,
}

impl Scale {
    /// A sequential scale. Limits that are not finite or leave nothing between them are widened.
    pub fn sequential(low: f64, high: f64) -> Self {
        let (low, high) = proper(low, high);
        Self { low, high, palette: Palette::Sequential }
    }

    /// A diverging scale from `-limit` to `limit`.
    pub fn diverging(limit: f64) -> Self {
        let limit = if limit.is_finite() && limit != 0.0 { limit.abs() } else { 1.0 };
        Self { low: -limit, high: limit, palette: Palette::Diverging }
    }

    /// A diverging scale for the values of a whole data set. Its limit is the `quantile` of |value|, so that
    /// a few extreme entries do not wash out the others.
    pub fn diverging_for(values: impl IntoIterator<Item = f64>, quantile: f64) -> Self {
        Self::diverging(quantiles(values.into_iter().map(f64::abs), [quantile])[0])
    }

    /// A sequential scale for the values of a whole data set, from the smallest to the `quantile`.
    pub fn sequential_for(values: impl IntoIterator<Item = f64>, quantile: f64) -> Self {
        let [low, high] = quantiles(values, [0.0, quantile]);
        Self::sequential(low, high)
    }

    /// The value of the first colour.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The value of the last colour.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// The colours it runs through.
    pub fn palette(&self) -> Palette {
        self.palette
    }

    /// Where a value lies between the limits, from 0 to 1.
    pub fn position(&self, value: f64) -> f64 {
        // Halves, because the distance between two doubles may be no double.
        let (value, low, high) = (value / 2.0, self.low / 2.0, self.high / 2.0);
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// The colour of a value, grey for what is not a number.
    pub fn colour(&self, value: f64) -> Colour {
        self.palette.at(self.position(value))
    }

    /// How much a value stands out, from 0 to 1: its distance from the middle of a diverging scale or from
    /// the low end of a sequential one.
    pub fn salience(&self, value: f64) -> f64 {
        let t = self.position(value);
        match self.palette {
            Palette::Sequential => t,
            Palette::Diverging => (2.0 * t - 1.0).abs(),
        }
    }
}

/// Finite limits with a distance between them.
fn proper(low: f64, high: f64) -> (f64, f64) {
    let low = if low.is_finite() { low } else { 0.0 };
    let high = if high.is_finite() { high } else { low + 1.0 };
    let (low, high) = if low <= high { (low, high) } else { (high, low) };
    if high / 2.0 - low / 2.0 > low.abs().max(high.abs()) * 1e-9 {
        (low, high)
    } else {
        let room = (low.abs() * 1e-3).max(0.5);
        (low - room, high + room)
    }
}

/// Quantiles of the finite values, NaN if there are none.
pub(crate) fn quantiles<const N: usize>(
    values: impl IntoIterator<Item = f64>,
    at: [f64; N],
) -> [f64; N] {
    let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
    values.sort_unstable_by(f64::total_cmp);
    at.map(|q| {
        let last = values.len().saturating_sub(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within 0..=last"
        )]
        let rank = (q.clamp(0.0, 1.0) * last as f64).round() as usize;
        values.get(rank).copied().unwrap_or(f64::NAN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luma(c: Colour) -> f64 {
        0.2126 * f64::from(c.r) + 0.7152 * f64::from(c.g) + 0.0722 * f64::from(c.b)
    }

    #[test]
    fn the_sequential_scale_grows_lighter_with_every_step() {
        let scale = Scale::sequential(0.0, 1.0);
        let steps: Vec<f64> = (0..=20).map(|i| luma(scale.colour(f64::from(i) / 20.0))).collect();
        assert!(steps.windows(2).all(|w| w[1] > w[0] + 3.0), "{steps:?}");
    }

    #[test]
    fn the_diverging_scale_is_light_in_the_middle_blue_below_and_red_above() {
        let scale = Scale::diverging(2.0);
        let (blue, middle, red) = (scale.colour(-2.0), scale.colour(0.0), scale.colour(2.0));
        assert!(blue.b > blue.r + 60 && red.r > red.b + 60, "{blue} {red}");
        assert!(middle.r > 240 && middle.g > 240 && middle.b > 240, "{middle}");
        assert!((luma(scale.colour(1.0)) - luma(scale.colour(-1.0))).abs() < 25.0);
    }

    #[test]
    fn values_beyond_the_limits_and_nan_have_colours() {
        let scale = Scale::diverging(1.0);
        assert_eq!(scale.colour(9.0), scale.colour(1.0));
        assert_eq!(scale.colour(f64::NEG_INFINITY), scale.colour(-1.0));
        assert_eq!(scale.colour(f64::NAN), NOT_A_NUMBER);
    }

    #[test]
    fn limits_are_made_proper() {
        for (low, high) in [
            (0.0, 0.0),
            (3.0, 3.0),
            (f64::NAN, 1.0),
            (2.0, -2.0),
            (-f64::MAX, f64::MAX),
            (1e300, 1e300),
        ] {
            let scale = Scale::sequential(low, high);
            assert!(scale.low() < scale.high(), "{low} {high}");
            let t = scale.position(0.1);
            assert!((0.0..=1.0).contains(&t), "{low} {high}: {t}");
        }
        for limit in [0.0, f64::NAN, f64::INFINITY, -3.0] {
            assert!(Scale::diverging(limit).high() > 0.0);
        }
    }

    #[test]
    fn a_data_set_sets_the_limit_by_a_quantile() {
        let values = (0..1000).map(|i| if i == 500 { -1e6 } else { f64::from(i) / 1000.0 });
        let scale = Scale::diverging_for(values.chain([f64::NAN]), 0.99);
        assert!((scale.high() - 0.99).abs() < 0.01, "{}", scale.high());
        assert!((Scale::diverging_for([], 0.9).high() - 1.0).abs() < 1e-12);
    }
}
