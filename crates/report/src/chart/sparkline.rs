//! A line without axes, small enough for a table or a card.

use super::name;
use crate::{
    drawing::{Drawing, Figure, Point, Shape, Style},
    number::Range,
    theme::Paint,
};

/// More points than this are drawn by the largest of neighbours.
const MOST_POINTS: usize = 300;

/// Values in order, beside a level that they should stay below.
#[derive(Clone, Debug)]
pub struct Sparkline {
    title: String,
    values: Vec<f64>,
    level: Option<f64>,
    size: Point,
}

impl Sparkline {
    /// Of values at equal distances; what is not finite is left out.
    pub fn new(title: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let values = values.into_iter().filter(|v| v.is_finite()).collect();
        Self { title: title.into(), values, level: None, size: [320.0, 64.0] }
    }

    /// A dashed line at a value.
    #[must_use]
    pub fn level(mut self, value: f64) -> Self {
        self.level = Some(value).filter(|v| v.is_finite());
        self
    }

    /// With another width and height than usual.
    #[must_use]
    pub fn sized(mut self, width: f64, height: f64) -> Self {
        self.size = [width, height];
        self
    }

    fn drawn(&self) -> Vec<f64> {
        let chunk = self.values.len().div_ceil(MOST_POINTS).max(1);
        let largest = |part: &[f64]| part.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.values.chunks(chunk).map(largest).collect()
    }
}

impl Figure for Sparkline {
    fn draw(&self) -> Drawing {
        let [width, height] = self.size;
        let mut d = Drawing::new(width, height, name(&self.title, "small line chart"));
        let values = self.drawn();
        let range = Range::covering(values.iter().copied().chain(self.level)).padded(0.08);
        let (left, top, wide, tall) = (2.0, 3.0, width - 6.0, height - 6.0);
        let y = |value: f64| top + (1.0 - range.position(value)) * tall;
        let last = values.len().saturating_sub(1).max(1) as f64;
        let points: Vec<Point> = values
            .iter()
            .enumerate()
            .map(|(i, v)| [left + wide * i as f64 / last, y(*v)])
            .collect();
        if let Some(level) = self.level {
            let style = Style::stroke(Paint::Limit, 1.25).dashed(true);
            d.line([left, y(level)], [left + wide, y(level)], style);
        }
        if let (Some(first), Some(end)) = (points.first().copied(), points.last().copied()) {
            let base = top + tall;
            let mut area = vec![[first[0], base]];
            area.extend(&points);
            area.push([end[0], base]);
            let fill = Style::fill(Paint::Series(0)).opacity(0.14);
            d.shape(Shape::Polygon(area), fill);
            d.shape(Shape::Line(points), Style::stroke(Paint::Series(0), 1.75));
            d.shape(Shape::Circle { at: end, radius: 2.75 }, Style::fill(Paint::Series(0)));
        }
        d
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_survive_and_whatever_comes_a_figure_comes_out() {
        let mut values = vec![0.0; 100_000];
        values[54_321] = 9.0;
        let line = Sparkline::new("evidence", values).level(4.0);
        assert!(line.drawn().len() <= MOST_POINTS && line.drawn().contains(&9.0));
        for values in [vec![], vec![1.0], vec![f64::NAN, f64::INFINITY], vec![-1e300, 1e300]] {
            let svg = Sparkline::new("x", values).level(0.5).to_svg();
            assert!(roxmltree::Document::parse(&svg).is_ok(), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
