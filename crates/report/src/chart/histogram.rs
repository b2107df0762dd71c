//! How values are distributed, several groups upon each other.

use super::{
    HEIGHT, WIDTH,
    frame::{Extent, Setup, draw_upright_limit},
    legend::{Entry, Key},
    name, nothing,
};
use crate::{
    colour::quantiles,
    drawing::{Drawing, Figure, Shape, Style},
    number::Range,
    theme::Paint,
};

/// Groups of values over common bins. Heights are shares of a group, so that groups of different sizes
/// compare.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    title: String,
    x_label: String,
    groups: Vec<(String, Vec<f64>)>,
    thresholds: Vec<(f64, String)>,
    bins: Option<usize>,
    uncounted: bool,
    ends: Option<(f64, f64)>,
    size: Option<[f64; 2]>,
}

impl Histogram {
    /// Without any group yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// What the values are.
    #[must_use]
    pub fn axis(mut self, label: impl Into<String>) -> Self {
        self.x_label = label.into();
        self
    }

    /// Adds a group.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        self.groups.push((name.into(), values.into_iter().collect()));
        self
    }

    /// Adds an upright line.
    #[must_use]
    pub fn threshold(mut self, value: f64, label: impl Into<String>) -> Self {
        self.thresholds.push((value, label.into()));
        self
    }

    /// How many bins; without it, as many as the largest group can fill.
    #[must_use]
    pub fn bins(mut self, bins: usize) -> Self {
        self.bins = Some(bins.clamp(1, 400));
        self
    }

    /// The ends of the axis; without them, they follow from the values.
    #[must_use]
    pub fn ends(mut self, low: f64, high: f64) -> Self {
        self.ends = Some((low, high)).filter(|(low, high)| low.is_finite() && high.is_finite());
        self
    }

    /// With another width and height than usual.
    #[must_use]
    pub fn sized(mut self, width: f64, height: f64) -> Self {
        self.size = Some([width, height]);
        self
    }

    /// Does not say how many values a group has, as where they stand for more.
    #[must_use]
    pub fn without_counts(mut self) -> Self {
        self.uncounted = true;
        self
    }

    fn bin_count(&self) -> usize {
        let largest = self.groups.iter().map(|g| g.1.len()).max().unwrap_or(0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 60")]
        let fillable = (2.0 * (largest as f64).cbrt()).clamp(8.0, 60.0) as usize;
        self.bins.unwrap_or(fillable)
    }

    /// The interval of the bins. Tails far beyond the bulk of every group are cut off.
    fn range(&self) -> Range {
        if let Some((low, high)) = self.ends {
            return Range::covering([low, high]);
        }
        let thresholds = || self.thresholds.iter().map(|t| t.0);
        let all = Range::covering(self.groups.iter().flat_map(|g| g.1.iter().copied()));
        let bulk = self.groups.iter().flat_map(|g| quantiles(g.1.iter().copied(), [0.05, 0.95]));
        let bulk = Range::covering(bulk.chain(thresholds()));
        let (kept, far) = (bulk.padded(0.75), bulk.padded(3.0));
        let low = if all.low < far.low { kept.low } else { all.low };
        let high = if all.high > far.high { kept.high } else { all.high };
        let shown = Range::covering([low, high].into_iter().chain(thresholds()));
        // A threshold at the rim would be hard to see.
        let at_rim = |v: f64| !(0.02..0.98).contains(&shown.position(v));
        if thresholds().any(at_rim) { shown.padded(0.05) } else { shown }
    }
}

/// The shares of the values in the bins, and how many values lie beyond the first and last bin, where they
/// are counted.
fn shares(values: &[f64], range: Range, bins: usize) -> (Vec<f64>, usize) {
    let mut counts = vec![0usize; bins];
    let (mut total, mut beyond) = (0usize, 0usize);
    for &value in values.iter().filter(|v| v.is_finite()) {
        let position = range.position(value);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "casts saturate"
        )]
        let bin = (position * bins as f64).floor() as usize;
        counts[bin.min(bins - 1)] += 1;
        total += 1;
        beyond += usize::from(!(-1e-9..=1.0 + 1e-9).contains(&position));
    }
    (counts.iter().map(|&c| c as f64 / total.max(1) as f64).collect(), beyond)
}

impl Figure for Histogram {
    fn draw(&self) -> Drawing {
        if !self.groups.iter().any(|g| g.1.iter().any(|v| v.is_finite())) {
            return nothing(&self.title);
        }
        let (range, bins) = (self.range(), self.bin_count());
        let counted: Vec<(Vec<f64>, usize)> =
            self.groups.iter().map(|g| shares(&g.1, range, bins)).collect();
        let tallest = counted.iter().flat_map(|c| c.0.iter().copied()).fold(0.0, f64::max);
        let missing = self.groups.iter().flat_map(|g| &g.1).filter(|v| !v.is_finite()).count();
        let beyond = counted.iter().map(|c| c.1).sum();
        let entries = self.groups.iter().enumerate().map(|(k, g)| Entry {
            name: if self.uncounted { g.0.clone() } else { format!("{} (n = {})", g.0, g.1.len()) },
            paint: Paint::Series(k),
            key: Key::Area,
        });
        // Labels of thresholds get a strip above the tallest bin.
        let room = if self.thresholds.is_empty() { 1.05 } else { 1.15 };
        let (mut d, frame) = Setup {
            name: name(&self.title, "histogram"),
            title: &self.title,
            x_label: &self.x_label,
            y_label: "share of group",
            x: range,
            y: Range { low: 0.0, high: tallest * room },
            right: None,
            legend: entries.collect(),
            note: note(beyond, missing),
            side: 0.0,
            extent: Extent::Figure(self.size.unwrap_or([WIDTH, HEIGHT])),
        }
        .draw();
        for (k, (shares, _)) in counted.iter().enumerate() {
            let edge = |i: usize| frame.at[0] + frame.size[0] * i as f64 / bins as f64;
            let mut points = vec![[edge(0), frame.bottom()]];
            for (i, share) in shares.iter().enumerate() {
                let y = frame.y(*share);
                points.extend([[edge(i), y], [edge(i + 1), y]]);
            }
            points.push([edge(bins), frame.bottom()]);
            let paint = Paint::Series(k);
            // Many areas upon each other would hide their outlines.
            let (opacity, rim) = if counted.len() > 3 { (0.1, 2.0) } else { (0.35, 1.25) };
            let style = Style::fill(paint).opacity(opacity).outlined(paint, rim);
            d.shape(Shape::Polygon(points), style);
        }
        for (value, label) in self.thresholds.iter().filter(|t| t.0.is_finite()) {
            draw_upright_limit(&mut d, &frame, *value, label, Paint::Limit);
        }
        d
    }
}

fn note(beyond: usize, missing: usize) -> String {
    let values = |n: usize| if n == 1 { "1 value".to_owned() } else { format!("{n} values") };
    let mut parts = Vec::new();
    if beyond > 0 {
        parts.push(format!("{} beyond the axis, counted in the outermost bins.", values(beyond)));
    }
    if missing > 0 {
        parts.push(format!("{} not finite, left out.", values(missing)));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_tails_are_counted_in_the_last_bins() {
        let range = Range { low: 0.0, high: 4.0 };
        let (shares, beyond) = shares(&[-9.0, 0.5, 1.5, 1.6, 99.0, 4.0, f64::NAN], range, 4);
        assert_eq!(beyond, 2);
        let sixths: Vec<f64> = shares.iter().map(|s| (s * 6.0).round()).collect();
        assert_eq!(sixths, [2.0, 2.0, 0.0, 2.0]);
    }

    #[test]
    fn a_far_tail_does_not_flatten_the_bulk() {
        let values = (0..1000).map(|i| if i == 7 { 1e9 } else { f64::from(i) });
        let range = Histogram::new("").group("a", values).range();
        assert!(range.high < 2000.0, "{range:?}");
    }
}
