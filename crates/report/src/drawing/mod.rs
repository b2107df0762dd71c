//! Marks on a sheet: what every figure is made of before it becomes SVG or PNG.

mod pixels;
mod raster;
mod svg;

pub(crate) use pixels::Pixels;

use crate::{Error, theme::Paint};

/// A figure as marks on a sheet, the first at the bottom. Lengths are in pixels of a screen, down is
/// positive.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) name: String,
    marks: Vec<Mark>,
}

/// The rim around text upon lines.
const HALO: f64 = 3.5;

/// A position.
pub(crate) type Point = [f64; 2];

#[derive(Clone, Debug)]
pub(crate) enum Mark {
    Shape { shape: Shape, style: Style, hint: String },
    Text(Text),
    Image { at: Point, size: Point, pixels: Pixels, smooth: bool },
}

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Rect { at: Point, size: Point },
    Circle { at: Point, radius: f64 },
    Line(Vec<Point>),
    Polygon(Vec<Point>),
}

/// How a shape is painted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) fill: Option<Paint>,
    pub(crate) fill_opacity: f64,
    pub(crate) stroke: Option<Paint>,
    pub(crate) stroke_width: f64,
    pub(crate) dashed: bool,
}

impl Style {
    pub(crate) fn fill(paint: Paint) -> Self {
        Self {
            fill: Some(paint),
            fill_opacity: 1.0,
            stroke: None,
            stroke_width: 0.0,
            dashed: false,
        }
    }

    pub(crate) fn stroke(paint: Paint, width: f64) -> Self {
        Self {
            fill: None,
            fill_opacity: 1.0,
            stroke: Some(paint),
            stroke_width: width,
            dashed: false,
        }
    }

    pub(crate) fn opacity(mut self, opacity: f64) -> Self {
        self.fill_opacity = opacity;
        self
    }

    pub(crate) fn outlined(mut self, paint: Paint, width: f64) -> Self {
        self.stroke = Some(paint);
        self.stroke_width = width;
        self
    }

    pub(crate) fn dashed(mut self, dashed: bool) -> Self {
        self.dashed = dashed;
        self
    }
}

/// Which point of a line of text is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text with its baseline at a height.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) at: Point,
    pub(crate) line: String,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) paint: Paint,
    pub(crate) bold: bool,
    /// Has a rim of paper that keeps it legible upon lines.
    pub(crate) halo: bool,
    /// Reads from the bottom to the top.
    pub(crate) upright: bool,
    /// The whole text, where this is a part.
    pub(crate) hint: String,
}

impl Text {
    pub(crate) fn new(at: Point, line: impl Into<String>, size: f64) -> Self {
        Self {
            at,
            line: line.into(),
            size,
            anchor: Anchor::Start,
            paint: Paint::Ink,
            bold: false,
            halo: false,
            upright: false,
            hint: String::new(),
        }
    }

    pub(crate) fn anchor(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }

    pub(crate) fn paint(mut self, paint: Paint) -> Self {
        self.paint = paint;
        self
    }

    pub(crate) fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    pub(crate) fn halo(mut self) -> Self {
        self.halo = true;
        self
    }

    pub(crate) fn upright(mut self) -> Self {
        self.upright = true;
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl Drawing {
    /// A sheet with a name for those who can't see it.
    pub(crate) fn new(width: f64, height: f64, name: impl Into<String>) -> Self {
        Self { width: width.ceil(), height: height.ceil(), name: name.into(), marks: Vec::new() }
    }

    pub(crate) fn shape(&mut self, shape: Shape, style: Style) {
        self.hinted(shape, style, String::new());
    }

    /// A shape that tells more when pointed at. Shapes without a place on the sheet are left out.
    pub(crate) fn hinted(&mut self, shape: Shape, style: Style, hint: String) {
        if shape.is_finite() {
            self.marks.push(Mark::Shape { shape, style, hint });
        }
    }

    pub(crate) fn rect(&mut self, at: Point, size: Point, style: Style) {
        self.shape(Shape::Rect { at, size }, style);
    }

    pub(crate) fn line(&mut self, from: Point, to: Point, style: Style) {
        self.shape(Shape::Line(vec![from, to]), style);
    }

    pub(crate) fn text(&mut self, text: Text) {
        if !text.line.is_empty() && finite(text.at) {
            self.marks.push(Mark::Text(text));
        }
    }

    pub(crate) fn image(&mut self, at: Point, size: Point, pixels: Pixels, smooth: bool) {
        if !pixels.is_empty() && finite(at) && finite(size) {
            self.marks.push(Mark::Image { at, size, pixels, smooth });
        }
    }

    /// The drawing as SVG: an element that can stand in a page or, with its declaration of the name
    /// space, in a file.
    pub fn to_svg(&self) -> String {
        svg::write(self)
    }

    /// The drawing as PNG on white, with two pixels for every unit of length.
    pub fn to_png(&self) -> Result<Vec<u8>, Error> {
        raster::encode(self, 2)
    }
}

impl Shape {
    fn is_finite(&self) -> bool {
        match self {
            Self::Rect { at, size } => finite(*at) && finite(*size),
            Self::Circle { at, radius } => finite(*at) && radius.is_finite(),
            Self::Line(points) | Self::Polygon(points) => {
                !points.is_empty() && points.iter().all(|p| finite(*p))
            }
        }
    }
}

fn finite(p: Point) -> bool {
    p.iter().all(|v| v.is_finite())
}

/// Something that can be drawn.
pub trait Figure {
    /// The marks.
    fn draw(&self) -> Drawing;

    /// As SVG.
    fn to_svg(&self) -> String {
        self.draw().to_svg()
    }

    /// As PNG on white, with two pixels for every unit of length.
    fn to_png(&self) -> Result<Vec<u8>, Error> {
        self.draw().to_png()
    }
}
