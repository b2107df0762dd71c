//! Drawings as PNG.

use tiny_skia::{
    FillRule, FilterQuality, LineJoin, Paint as Brush, Path, PathBuilder, Pixmap, PixmapPaint,
    Rect, Stroke, StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

use super::{Anchor, Drawing, HALO, Mark, Point, Shape, Style, Text};
use crate::{
    Error,
    text::{self, FONT, glyph},
    theme::Paint,
};

/// Images beyond this are refused.
pub(super) const MOST_MEGAPIXELS: u64 = 64;

pub(super) fn encode(drawing: &Drawing, scale: u32) -> Result<Vec<u8>, Error> {
    let mut sheet = sheet(drawing, scale)?;
    sheet.fill(colour(Paint::Paper, 1.0));
    let factor = single(f64::from(scale));
    let view = Transform::from_scale(factor, factor);
    for mark in &drawing.marks {
        match mark {
            Mark::Shape { shape, style, .. } => paint_shape(&mut sheet, view, shape, style),
            Mark::Text(text) => paint_text(&mut sheet, view, text),
            Mark::Image { at, size, pixels, smooth } => {
                let source = pixels.pixmap()?;
                let quality =
                    if *smooth { FilterQuality::Bilinear } else { FilterQuality::Nearest };
                let brush = PixmapPaint { quality, ..PixmapPaint::default() };
                let stretch = view.pre_translate(single(at[0]), single(at[1])).pre_scale(
                    single(size[0] / f64::from(source.width())),
                    single(size[1] / f64::from(source.height())),
                );
                sheet.draw_pixmap(0, 0, source.as_ref(), &brush, stretch, None);
            }
        }
    }
    sheet.encode_png().map_err(|e| Error::Encoding(e.to_string()))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn sheet(drawing: &Drawing, scale: u32) -> Result<Pixmap, Error> {
    let side = |length: f64| ((length * f64::from(scale)) as u64).max(1);
    let (width, height) = (side(drawing.width), side(drawing.height));
    let too_large = Error::TooLarge { width, height, most: MOST_MEGAPIXELS };
    if width.saturating_mul(height) > MOST_MEGAPIXELS * 1_000_000 {
        return Err(too_large);
    }
    let (Ok(w), Ok(h)) = (u32::try_from(width), u32::try_from(height)) else {
        return Err(too_large);
    };
    Pixmap::new(w, h).ok_or(too_large)
}

#[expect(clippy::cast_possible_truncation, reason = "coordinates of a screen")]
fn single(v: f64) -> f32 {
    v as f32
}

fn colour(paint: Paint, opacity: f64) -> tiny_skia::Color {
    let c = paint.light();
    tiny_skia::Color::from_rgba8(c.r, c.g, c.b, crate::colour::byte(opacity))
}

fn brush(paint: Paint, opacity: f64) -> Brush<'static> {
    let mut brush = Brush::default();
    brush.set_color(colour(paint, opacity));
    brush
}

fn outline(shape: &Shape) -> Option<Path> {
    let through = |points: &[Point], closed: bool| {
        let mut builder = PathBuilder::new();
        for (i, &[x, y]) in points.iter().enumerate() {
            let (x, y) = (single(x), single(y));
            if i == 0 { builder.move_to(x, y) } else { builder.line_to(x, y) }
        }
        if closed {
            builder.close();
        }
        builder.finish()
    };
    match shape {
        Shape::Rect { at: [x, y], size: [w, h] } => {
            Rect::from_xywh(single(*x), single(*y), single(*w), single(*h))
                .map(PathBuilder::from_rect)
        }
        Shape::Circle { at: [x, y], radius } => {
            PathBuilder::from_circle(single(*x), single(*y), single(*radius))
        }
        Shape::Line(points) => through(points, false),
        Shape::Polygon(points) => through(points, true),
    }
}

fn paint_shape(sheet: &mut Pixmap, view: Transform, shape: &Shape, style: &Style) {
    let Some(path) = outline(shape) else { return };
    if let Some(paint) = style.fill {
        let brush = brush(paint, style.fill_opacity);
        sheet.fill_path(&path, &brush, FillRule::Winding, view, None);
    }
    if let Some(paint) = style.stroke {
        let stroke = Stroke {
            width: single(style.stroke_width),
            line_join: LineJoin::Round,
            dash: if style.dashed { StrokeDash::new(vec![6.0, 4.0], 0.0) } else { None },
            ..Stroke::default()
        };
        sheet.stroke_path(&path, &brush(paint, 1.0), &stroke, view, None);
    }
}

fn paint_text(sheet: &mut Pixmap, view: Transform, text: &Text) {
    let width = text::width(&text.line, text.size);
    let mut pen = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let unit = text.size / f64::from(FONT.units_per_em());
    let mut letters = Letters { path: PathBuilder::new(), pen: 0.0, unit: single(unit) };
    for c in text.line.chars() {
        letters.pen = single(pen);
        FONT.outline_glyph(glyph(c), &mut letters);
        pen += text::advance(c) * text.size;
    }
    let Some(path) = letters.path.finish() else { return };
    let place = view.pre_translate(single(text.at[0]), single(text.at[1]));
    let place = if text.upright { place.pre_rotate(-90.0) } else { place };
    if text.halo {
        let rim = brush(Paint::Paper, 1.0);
        let line_join = LineJoin::Round;
        let stroke = Stroke { width: single(HALO), line_join, ..Stroke::default() };
        sheet.stroke_path(&path, &rim, &stroke, place, None);
    }
    let brush = brush(text.paint, 1.0);
    sheet.fill_path(&path, &brush, FillRule::Winding, place, None);
    if text.bold {
        let stroke = Stroke { width: single(text.size / 24.0), ..Stroke::default() };
        sheet.stroke_path(&path, &brush, &stroke, place, None);
    }
}

/// Outlines of glyphs, one after the other, upside down because fonts count upwards.
struct Letters {
    path: PathBuilder,
    pen: f32,
    unit: f32,
}

impl Letters {
    fn x(&self, x: f32) -> f32 {
        self.pen + x * self.unit
    }

    fn y(&self, y: f32) -> f32 {
        -y * self.unit
    }
}

impl OutlineBuilder for Letters {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x(x), self.y(y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x(x), self.y(y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.x(x1), self.y(y1), self.x(x), self.y(y));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (x1, y1, x2, y2) = (self.x(x1), self.y(y1), self.x(x2), self.y(y2));
        self.path.cubic_to(x1, y1, x2, y2, self.x(x), self.y(y));
    }

    fn close(&mut self) {
        self.path.close();
    }
}
