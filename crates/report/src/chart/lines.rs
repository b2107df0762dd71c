//! Values over time or over anything else that is ordered.

use super::{
    HEIGHT, WIDTH,
    frame::{Extent, Frame, Setup, draw_level_limit, draw_named_upright},
    legend::{Entry, Key},
    name, nothing,
};
use crate::{
    drawing::{Drawing, Figure, Point, Shape, Style},
    number::Range,
    theme::Paint,
};

/// More points than this are drawn by the extremes of neighbours.
const MOST_POINTS: usize = 2000;

/// A line through points. Where a value is not finite, the line is interrupted.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Series {
    name: String,
    points: Vec<Sample>,
    markers: bool,
    dashed: bool,
    right: bool,
    unconnected: bool,
    /// Its colour, if it is not that of its place.
    slot: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    x: f64,
    y: f64,
    band: Option<(f64, f64)>,
}

impl Series {
    /// A line through (x, y), in that order.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| Sample { x, y, band: None }).collect();
        let (markers, dashed, right, unconnected) = (false, false, false, false);
        Self { name: name.into(), points, markers, dashed, right, unconnected, slot: None }
    }

    /// With a dot at every point.
    #[must_use]
    pub fn markers(mut self) -> Self {
        self.markers = true;
        self
    }

    /// As dots without a line.
    #[must_use]
    pub fn dots(mut self) -> Self {
        (self.markers, self.unconnected) = (true, true);
        self
    }

    /// With a dashed line.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// With a band from the first to the second number of every point, as for an interval.
    #[must_use]
    pub fn band(mut self, limits: impl IntoIterator<Item = (f64, f64)>) -> Self {
        for (point, limits) in self.points.iter_mut().zip(limits) {
            point.band = Some(limits);
        }
        self
    }

    /// Measured on the second axis, at the right.
    #[must_use]
    pub fn on_right(mut self) -> Self {
        self.right = true;
        self
    }

    /// The k-th colour, whatever its place: what is the same in several charts looks the same.
    #[must_use]
    pub fn colour(mut self, k: usize) -> Self {
        self.slot = Some(k);
        self
    }

    fn paint(&self, place: usize) -> Paint {
        Paint::Series(self.slot.unwrap_or(place))
    }

    fn heights(&self) -> impl Iterator<Item = f64> {
        self.points.iter().filter(|p| p.x.is_finite()).flat_map(|p| {
            let (low, high) = p.band.unwrap_or((f64::NAN, f64::NAN));
            [p.y, low, high]
        })
    }

    /// The points, or for many the extremes of neighbours.
    fn drawn(&self) -> Vec<Sample> {
        if self.points.len() <= MOST_POINTS {
            return self.points.clone();
        }
        let size = (2 * self.points.len()).div_ceil(MOST_POINTS);
        self.points.chunks(size).flat_map(extremes).collect()
    }
}

/// The lowest and the highest point, in their order, with the widest band.
fn extremes(points: &[Sample]) -> Vec<Sample> {
    let finite = || points.iter().enumerate().filter(|(_, p)| p.x.is_finite() && p.y.is_finite());
    let lowest = finite().min_by(|a, b| a.1.y.total_cmp(&b.1.y));
    let highest = finite().max_by(|a, b| a.1.y.total_cmp(&b.1.y));
    let (Some((i, low)), Some((j, high))) = (lowest, highest) else {
        return points.first().copied().into_iter().collect();
    };
    let bands = points.iter().filter_map(|p| p.band);
    let band = bands.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let pair = if i <= j { [*low, *high] } else { [*high, *low] };
    pair.map(|p| Sample { band, ..p }).to_vec()
}

/// Lines over a common axis.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    title: String,
    x_label: String,
    y_label: String,
    right_label: String,
    series: Vec<Series>,
    levels: Vec<(f64, String)>,
    moments: Vec<(f64, String)>,
    size: Option<[f64; 2]>,
}

impl Lines {
    /// Without any series yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// What the axes measure.
    #[must_use]
    pub fn axes(mut self, x: impl Into<String>, y: impl Into<String>) -> Self {
        self.x_label = x.into();
        self.y_label = y.into();
        self
    }

    /// What the second vertical axis measures.
    #[must_use]
    pub fn right_axis(mut self, label: impl Into<String>) -> Self {
        self.right_label = label.into();
        self
    }

    /// With another width and height than usual.
    #[must_use]
    pub fn sized(mut self, width: f64, height: f64) -> Self {
        self.size = Some([width, height]);
        self
    }

    /// Adds a series.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds a level line, as for a threshold.
    #[must_use]
    pub fn level(mut self, y: f64, label: impl Into<String>) -> Self {
        self.levels.push((y, label.into()));
        self
    }

    /// Adds an upright line, as for a change that is known.
    #[must_use]
    pub fn moment(mut self, x: f64, label: impl Into<String>) -> Self {
        self.moments.push((x, label.into()));
        self
    }
}

impl Figure for Lines {
    fn draw(&self) -> Drawing {
        let shown = |p: &Sample| p.x.is_finite() && p.y.is_finite();
        if !self.series.iter().any(|s| s.points.iter().any(shown)) {
            return nothing(&self.title);
        }
        let xs = self.series.iter().flat_map(|s| &s.points).filter(|p| shown(p)).map(|p| p.x);
        let x = Range::covering(xs.chain(self.moments.iter().map(|m| m.0)));
        let heights = |right: bool| {
            let of_axis = self.series.iter().filter(move |s| s.right == right);
            of_axis.flat_map(Series::heights)
        };
        let y = Range::covering(heights(false).chain(self.levels.iter().map(|l| l.0)));
        // Names of moments stand above all lines.
        let above = if self.moments.is_empty() { 0.0 } else { 0.08 };
        let roomy = |range: Range| range.padded(0.05).raised(above);
        let right = self.series.iter().any(|s| s.right);
        let right_range = roomy(Range::covering(heights(true)));
        let entries = self.series.iter().enumerate().map(|(k, s)| Entry {
            name: if s.right { format!("{} (right axis)", s.name) } else { s.name.clone() },
            paint: s.paint(k),
            key: if s.unconnected {
                Key::Dot
            } else {
                Key::Line { dashed: s.dashed, marked: s.markers }
            },
        });
        let (mut d, frame) = Setup {
            name: name(&self.title, "line chart"),
            title: &self.title,
            x_label: &self.x_label,
            y_label: &self.y_label,
            x,
            y: roomy(y),
            right: right.then_some((self.right_label.as_str(), right_range)),
            legend: entries.collect(),
            note: self.note(),
            side: 0.0,
            extent: Extent::Figure(self.size.unwrap_or([WIDTH, HEIGHT])),
        }
        .draw();
        for (k, series) in self.series.iter().enumerate() {
            draw_band(&mut d, &frame, series, series.paint(k));
        }
        for (k, series) in self.series.iter().enumerate() {
            draw_line(&mut d, &frame, series, series.paint(k));
        }
        for (value, label) in self.levels.iter().filter(|l| l.0.is_finite()) {
            draw_level_limit(&mut d, &frame, *value, label);
        }
        let mut moments: Vec<_> = self.moments.iter().filter(|m| m.0.is_finite()).collect();
        moments.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut free, mut lines) = (frame.at[0], 1);
        for (k, (value, label)) in moments.iter().enumerate() {
            let next = moments.get(k + 1).map_or(frame.right(), |next| frame.x(next.0));
            let label = (label.as_str(), Paint::Limit);
            let (is_lower, end) =
                draw_named_upright(&mut d, &frame, *value, label, [free, next], lines);
            lines = if is_lower { lines.saturating_add(1) } else { 1 };
            free = end;
        }
        d
    }
}

impl Lines {
    fn note(&self) -> String {
        let points = self.series.iter().flat_map(|s| &s.points);
        let missing = points.filter(|p| !(p.x.is_finite() && p.y.is_finite())).count();
        match missing {
            0 => String::new(),
            1 => "One point that is not finite is left out.".to_owned(),
            n => format!("{n} points that are not finite are left out."),
        }
    }
}

/// Pieces without interruptions, each a list of what `place` gives for its points.
fn pieces<T>(samples: &[Sample], place: impl Fn(&Sample) -> Option<T>) -> Vec<Vec<T>> {
    let mut pieces = vec![Vec::new()];
    for sample in samples {
        match (place(sample), pieces.last_mut()) {
            (Some(p), Some(piece)) => piece.push(p),
            _ => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn height(frame: &Frame, series: &Series, y: f64) -> f64 {
    if series.right { frame.y_right(y) } else { frame.y(y) }
}

fn draw_line(d: &mut Drawing, frame: &Frame, series: &Series, paint: Paint) {
    let place = |p: &Sample| {
        let whole = p.x.is_finite() && p.y.is_finite();
        whole.then(|| [frame.x(p.x), height(frame, series, p.y)])
    };
    for piece in pieces(&series.drawn(), place) {
        let dots: &[Point] = if series.markers || piece.len() == 1 { &piece } else { &[] };
        for &at in dots {
            d.shape(Shape::Circle { at, radius: 3.0 }, Style::fill(paint));
        }
        if piece.len() > 1 && !series.unconnected {
            d.shape(Shape::Line(piece), Style::stroke(paint, 2.0).dashed(series.dashed));
        }
    }
}

fn draw_band(d: &mut Drawing, frame: &Frame, series: &Series, paint: Paint) {
    let place = |p: &Sample| {
        let (low, high) = p.band?;
        let whole = p.x.is_finite() && low.is_finite() && high.is_finite();
        let y = |v| height(frame, series, v);
        whole.then(|| [[frame.x(p.x), y(low)], [frame.x(p.x), y(high)]])
    };
    for piece in pieces(&series.drawn(), place) {
        let there = piece.iter().map(|p| p[0]);
        let back = piece.iter().rev().map(|p| p[1]);
        let style = Style::fill(paint).opacity(0.18);
        d.shape(Shape::Polygon(there.chain(back).collect()), style);
    }
}
