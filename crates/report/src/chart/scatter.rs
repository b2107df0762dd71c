//! Points of the plane, one unit as long to the right as upwards.

use ndarray::Array2;

use super::{
    frame::{Extent, Frame, Setup, draw_level_limit, draw_upright_limit},
    legend::{Entry, Key},
    name, nothing,
};
use crate::{
    Scale,
    colour::{Colour, NOT_A_NUMBER},
    colour_bar::ColourBar,
    drawing::{Drawing, Figure, Pixels, Point, Shape, Style},
    number::Range,
    theme::Paint,
};

const WHITE: Paint = Paint::Fixed(Colour::new(255, 255, 255));
/// The series that stand out from red, blue and white.
const UPON_FIELD: [usize; 5] = [2, 5, 4, 7, 3];
const LONGEST_SIDE: f64 = 440.0;
/// More points than this are thinned evenly.
const MOST_POINTS: usize = 6000;

/// Values on a grid over a rectangle, behind the points.
#[derive(Clone, Debug)]
pub struct Field {
    /// The values; the first row has the lowest y.
    pub values: Array2<f32>,
    /// From the left to the right side.
    pub x: (f64, f64),
    /// From the lower to the upper side.
    pub y: (f64, f64),
}

#[derive(Clone, Debug)]
enum Marks {
    Class { name: String, points: Vec<Point> },
    Values(Vec<(Point, f64)>),
}

/// Points coloured by class or by value.
#[derive(Clone, Debug, Default)]
pub struct Scatter {
    title: String,
    labels: [String; 2],
    marks: Vec<Marks>,
    field: Option<Field>,
    scale: Option<(Scale, String)>,
    limits: Option<(Point, [String; 2])>,
}

impl Scatter {
    /// Without any point yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// What the axes measure.
    #[must_use]
    pub fn axes(mut self, x: impl Into<String>, y: impl Into<String>) -> Self {
        self.labels = [x.into(), y.into()];
        self
    }

    /// Adds the points of a class.
    #[must_use]
    pub fn class(
        mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let points = points.into_iter().map(|(x, y)| [x, y]).collect();
        self.marks.push(Marks::Class { name: name.into(), points });
        self
    }

    /// Adds points (x, y, value) that the scale colours.
    #[must_use]
    pub fn values(mut self, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y, v)| ([x, y], v)).collect();
        self.marks.push(Marks::Values(points));
        self
    }

    /// Puts a field behind the points, coloured by the scale.
    #[must_use]
    pub fn field(mut self, field: Field) -> Self {
        self.field = Some(field);
        self
    }

    /// The scale of values and field, and what they are.
    #[must_use]
    pub fn scale(mut self, scale: Scale, label: impl Into<String>) -> Self {
        self.scale = Some((scale, label.into()));
        self
    }

    /// Adds an upright line at `x` and a level one at `y`, as for thresholds, with their labels.
    #[must_use]
    pub fn limits(mut self, x: (f64, &str), y: (f64, &str)) -> Self {
        self.limits = Some(([x.0, y.0], [x.1.to_owned(), y.1.to_owned()]));
        self
    }

    fn points(&self) -> impl Iterator<Item = (Point, Option<f64>)> {
        self.marks.iter().flat_map(|marks| -> Box<dyn Iterator<Item = _>> {
            match marks {
                Marks::Class { points, .. } => Box::new(points.iter().map(|p| (*p, None))),
                Marks::Values(points) => Box::new(points.iter().map(|(p, v)| (*p, Some(*v)))),
            }
        })
    }

    /// Everything that the scale colours.
    fn coloured(&self) -> impl Iterator<Item = f64> {
        let field = self.field.iter().flat_map(|f| f.values.iter().copied().map(f64::from));
        self.points().filter_map(|p| p.1).chain(field)
    }

    /// The scale given, or one for all values.
    fn scale_or_fitting(&self) -> Option<(Scale, String)> {
        let fitting = || {
            self.coloured().next()?;
            Some((Scale::sequential_for(self.coloured(), 1.0), String::new()))
        };
        self.scale.clone().or_else(fitting).filter(|_| self.coloured().next().is_some())
    }

    fn ranges(&self) -> [Range; 2] {
        let along = |axis: usize| {
            let points = self.points().map(|p| p.0).filter(is_finite).map(move |p| p[axis]);
            let field = self.field.iter().flat_map(move |f| {
                let (from, to) = if axis == 0 { f.x } else { f.y };
                [from, to]
            });
            let limits = self.limits.iter().map(move |(at, _)| at[axis]);
            let range = Range::covering(points.chain(field).chain(limits));
            if self.field.is_some() { range } else { range.padded(0.04) }
        };
        let (x, y) = (along(0), along(1));
        let least = x.length().max(y.length()) / 3.0;
        [x, y].map(|r| {
            let room = (least - r.length()).max(0.0) / 2.0;
            Range { low: r.low - room, high: r.high + room }
        })
    }
}

fn is_finite(p: &Point) -> bool {
    p[0].is_finite() && p[1].is_finite()
}

impl Figure for Scatter {
    fn draw(&self) -> Drawing {
        let total = self.points().count();
        let finite = self.points().filter(|p| is_finite(&p.0)).count();
        let has_field = self.field.as_ref().is_some_and(|f| !f.values.is_empty());
        if finite == 0 && !has_field {
            return nothing(&self.title);
        }
        let [x, y] = self.ranges();
        let unit = LONGEST_SIDE / x.length().max(y.length());
        let scale = self.scale_or_fitting();
        let bar = scale.as_ref().map(|(scale, label)| ColourBar {
            scale: *scale,
            label,
            beyond: (
                self.coloured().any(|v| v < scale.low()),
                self.coloured().any(|v| v > scale.high()),
            ),
        });
        let every = finite.div_ceil(MOST_POINTS).max(1);
        let side = bar.as_ref().map_or(0.0, |b| b.width() + 16.0);
        let (mut d, frame) = Setup {
            name: name(&self.title, "points"),
            title: &self.title,
            x_label: &self.labels[0],
            y_label: &self.labels[1],
            x,
            y,
            right: None,
            legend: self.entries(),
            note: note(total - finite, every),
            side,
            extent: Extent::Plot([x.length() * unit, y.length() * unit]),
        }
        .draw();
        let scale = scale.as_ref().map(|s| s.0);
        if let (Some(field), Some(scale)) = (&self.field, &scale) {
            draw_field(&mut d, &frame, field, scale);
        }
        let radius = if finite > 1500 { 2.2 } else { 3.2 };
        for (k, marks) in self.marks.iter().enumerate() {
            let mut dot = |p: &Point, paint: Paint, rim: (Paint, f64)| {
                let at = [frame.x(p[0]), frame.y(p[1])];
                let style = Style::fill(paint).opacity(0.9).outlined(rim.0, rim.1);
                d.shape(Shape::Circle { at, radius }, style);
            };
            match marks {
                Marks::Class { points, .. } => {
                    let rim = if has_field { (WHITE, 1.0) } else { (Paint::Paper, 0.5) };
                    for p in points.iter().filter(|p| is_finite(p)).step_by(every) {
                        dot(p, self.paint(k), rim);
                    }
                }
                Marks::Values(points) => {
                    for (p, v) in points.iter().filter(|p| is_finite(&p.0)).step_by(every) {
                        let colour = scale.map_or(NOT_A_NUMBER, |s| s.colour(*v));
                        dot(p, Paint::Fixed(colour), (Paint::Muted, 0.6));
                    }
                }
            }
        }
        if let Some(([x, y], [upright, level])) = &self.limits
            && x.is_finite()
            && y.is_finite()
        {
            draw_upright_limit(&mut d, &frame, *x, upright, Paint::Limit);
            draw_level_limit(&mut d, &frame, *y, level);
        }
        d.rect(frame.at, frame.size, Style::stroke(Paint::Muted, 1.0));
        if let Some(bar) = bar {
            bar.draw(&mut d, [frame.right() + 16.0, frame.at[1]], frame.size[1]);
        }
        d
    }
}

impl Scatter {
    /// The paint of the k-th marks. A field has the same colours in all surroundings, and so do the points
    /// upon it.
    fn paint(&self, k: usize) -> Paint {
        if self.field.is_some() {
            Paint::Fixed(Paint::Series(UPON_FIELD[k % UPON_FIELD.len()]).light())
        } else {
            Paint::Series(k)
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let classes = self.marks.iter().enumerate().filter_map(|(k, marks)| match marks {
            Marks::Class { name, .. } => {
                Some(Entry { name: name.clone(), paint: self.paint(k), key: Key::Dot })
            }
            Marks::Values(_) => None,
        });
        classes.collect()
    }
}

fn draw_field(d: &mut Drawing, frame: &Frame, field: &Field, scale: &Scale) {
    let (rows, columns) = field.values.dim();
    let (height, width) = (rows.min(1024), columns.min(1024));
    let pixels = Pixels::from_fn(height, width, |r, c| {
        let row = (height - 1 - r) * rows / height;
        let colour = scale.colour(f64::from(field.values[[row, c * columns / width]]));
        [colour.r, colour.g, colour.b, 255]
    });
    let [left, right] = [field.x.0, field.x.1].map(|v| frame.x(v));
    let [bottom, top] = [field.y.0, field.y.1].map(|v| frame.y(v));
    d.image([left, top], [right - left, bottom - top], pixels, true);
}

fn note(missing: usize, every: usize) -> String {
    let mut parts = Vec::new();
    if every > 1 {
        parts.push(format!("One point in {every} is shown."));
    }
    if missing > 0 {
        let points = if missing == 1 { "1 point".to_owned() } else { format!("{missing} points") };
        parts.push(format!("{points} not finite, left out."));
    }
    parts.join(" ")
}
