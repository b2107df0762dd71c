//! Drawings as SVG. Every mark carries its colour for light surroundings and, where it has a part to play,
//! a class by which a page recolours it. No identifiers are used, so that drawings can share a page.

use std::fmt::Write;

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{Anchor, Drawing, HALO, Mark, Pixels, Point, Shape, Style, Text};
use crate::{text::escape, theme::Paint};

const FONTS: &str =
    "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif";

pub(super) fn write(drawing: &Drawing) -> String {
    let (width, height) = (Number(drawing.width), Number(drawing.height));
    let name = escape(&drawing.name);
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{name}" font-family="{FONTS}">"#
    );
    let paper = Style::fill(Paint::Paper);
    let sheet = Shape::Rect { at: [0.0, 0.0], size: [drawing.width, drawing.height] };
    put(&mut out, &Mark::Shape { shape: sheet, style: paper, hint: String::new() });
    for mark in &drawing.marks {
        put(&mut out, mark);
    }
    out.push_str("</svg>");
    out
}

fn put(out: &mut String, mark: &Mark) {
    // Writing to a string does not fail.
    let _ = match mark {
        Mark::Shape { shape, style, hint } => put_shape(out, shape, style, hint),
        Mark::Text(text) => put_text(out, text),
        Mark::Image { at, size, pixels, smooth } => put_image(out, *at, *size, pixels, *smooth),
    };
}

fn put_shape(out: &mut String, shape: &Shape, style: &Style, hint: &str) -> std::fmt::Result {
    let element = match shape {
        Shape::Rect { at: [x, y], size: [w, h] } => {
            let (x, y, w, h) = (Number(*x), Number(*y), Number(*w), Number(*h));
            write!(out, r#"<rect x="{x}" y="{y}" width="{w}" height="{h}""#)?;
            "rect"
        }
        Shape::Circle { at: [x, y], radius } => {
            let (x, y, r) = (Number(*x), Number(*y), Number(*radius));
            write!(out, r#"<circle cx="{x}" cy="{y}" r="{r}""#)?;
            "circle"
        }
        Shape::Line(points) => {
            write!(out, r#"<polyline points="{}""#, Points(points))?;
            "polyline"
        }
        Shape::Polygon(points) => {
            write!(out, r#"<polygon points="{}""#, Points(points))?;
            "polygon"
        }
    };
    put_style(out, style)?;
    if hint.is_empty() {
        out.write_str("/>")
    } else {
        write!(out, "><title>{}</title></{element}>", escape(hint))
    }
}

fn put_style(out: &mut String, style: &Style) -> std::fmt::Result {
    let classes = [
        style.fill.and_then(Paint::class).map(|c| format!("fill-{c}")),
        style.stroke.and_then(Paint::class).map(|c| format!("stroke-{c}")),
    ];
    let classes: Vec<String> = classes.into_iter().flatten().collect();
    if !classes.is_empty() {
        write!(out, r#" class="{}""#, classes.join(" "))?;
    }
    match style.fill {
        Some(paint) => write!(out, r#" fill="{}""#, paint.light())?,
        None => out.write_str(r#" fill="none""#)?,
    }
    if style.fill.is_some() && style.fill_opacity < 1.0 {
        write!(out, r#" fill-opacity="{}""#, Number(style.fill_opacity))?;
    }
    if let Some(paint) = style.stroke {
        let width = Number(style.stroke_width);
        write!(out, r#" stroke="{}" stroke-width="{width}""#, paint.light())?;
        out.write_str(r#" stroke-linejoin="round""#)?;
        if style.dashed {
            out.write_str(r#" stroke-dasharray="6 4""#)?;
        }
    }
    Ok(())
}

fn put_text(out: &mut String, text: &Text) -> std::fmt::Result {
    let (x, y) = (Number(text.at[0]), Number(text.at[1]));
    write!(out, r#"<text x="{x}" y="{y}" font-size="{}""#, Number(text.size))?;
    if text.halo {
        put_style(out, &Style::fill(text.paint).outlined(Paint::Paper, HALO))?;
        out.write_str(r#" paint-order="stroke""#)?;
    } else {
        put_style(out, &Style::fill(text.paint))?;
    }
    match text.anchor {
        Anchor::Start => {}
        Anchor::Middle => out.write_str(r#" text-anchor="middle""#)?,
        Anchor::End => out.write_str(r#" text-anchor="end""#)?,
    }
    if text.bold {
        out.write_str(r#" font-weight="600""#)?;
    }
    if text.upright {
        write!(out, r#" transform="rotate(-90 {x} {y})""#)?;
    }
    out.write_str(">")?;
    if !text.hint.is_empty() {
        write!(out, "<title>{}</title>", escape(&text.hint))?;
    }
    write!(out, "{}</text>", escape(&text.line))
}

fn put_image(
    out: &mut String,
    at: Point,
    size: Point,
    pixels: &Pixels,
    smooth: bool,
) -> std::fmt::Result {
    let Ok(png) = pixels.png() else { return Ok(()) };
    let [x, y, w, h] = [at[0], at[1], size[0], size[1]].map(Number);
    let style = if smooth { "" } else { r#" image-rendering="pixelated""# };
    write!(
        out,
        r#"<image x="{x}" y="{y}" width="{w}" height="{h}" preserveAspectRatio="none"{style} href="data:image/png;base64,{}"/>"#,
        BASE64_STANDARD.encode(png)
    )
}

/// A length with two decimals at most.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rounded = (self.0 * 100.0).round() / 100.0;
        // Adding zero turns −0 into 0.
        write!(f, "{}", rounded + 0.0)
    }
}

/// Coordinates of a polyline.
struct Points<'a>(&'a [Point]);

impl std::fmt::Display for Points<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, [x, y]) in self.0.iter().enumerate() {
            let gap = if i == 0 { "" } else { " " };
            write!(f, "{gap}{},{}", Number(*x), Number(*y))?;
        }
        Ok(())
    }
}
