//! Roots to the last bit.

/// The largest number in 0..`end` for which `holds`, which must hold at 0 and, once it fails, fail for good.
/// Floats that are not negative are ordered as their bits are, so 63 halvings reach full relative precision.
pub(crate) fn last(end: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0u64, end.to_bits());
    while high - low > 1 {
        let middle = low.midpoint(high);
        if holds(f64::from_bits(middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::from_bits(low)
}

/// The first whole number in 0..`end` for which `holds`, which must then hold for all larger ones; else `end`.
pub(crate) fn first(end: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_exact() {
        assert_eq!(last(10.0, |x| x <= 1e-300).to_bits(), 1e-300f64.to_bits());
        assert_eq!(last(f64::MAX, |x| x * x <= 9.0).to_bits(), 3f64.to_bits());
        assert_eq!([first(9, |k| k >= 4), first(9, |_| false), first(0, |_| true)], [4, 9, 0]);
    }
}
