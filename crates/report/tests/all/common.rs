//! What every figure must satisfy, and ways to look at one.

use roxmltree::{Document, Node};
use taste_report::Figure;
use tiny_skia::Pixmap;

/// Numbers of a figure's coordinates must be numbers, its image must decode, and nothing may be cut off at
/// the rim of the sheet.
pub(crate) fn assert_sound(name: &str, figure: &dyn Figure) {
    let svg = figure.to_svg();
    let document = Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
    for node in document.descendants() {
        for attribute in node.attributes() {
            let numbers = match attribute.name() {
                "x" | "y" | "width" | "height" | "cx" | "cy" | "r" | "font-size" | "points"
                | "viewBox" => attribute.value(),
                _ => continue,
            };
            for number in numbers.split([' ', ',']) {
                let value: f64 = number.parse().unwrap_or(f64::NAN);
                assert!(value.is_finite() && value.abs() < 1e5, "{name}: {attribute:?}");
            }
        }
    }
    let image = image(figure);
    let (width, height) = (image.width(), image.height());
    for i in 0..width.max(height) {
        for (x, y) in [(i, 0), (i, height - 1), (0, i), (width - 1, i)] {
            if let Some(pixel) = image.pixel(x, y) {
                let [r, g, b] = [pixel.red(), pixel.green(), pixel.blue()];
                assert!(r == 255 && g == 255 && b == 255, "{name}: something at ({x}, {y})");
            }
        }
    }
}

/// The image as pixels, two for every unit of the drawing.
pub(crate) fn image(figure: &dyn Figure) -> Pixmap {
    Pixmap::decode_png(&figure.to_png().expect("an image")).expect("a PNG")
}

/// The colour at a point of the drawing.
pub(crate) fn colour_at(image: &Pixmap, x: f64, y: f64) -> [u8; 3] {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "on the sheet")]
    let pixel = image.pixel((x * 2.0) as u32, (y * 2.0) as u32).expect("on the sheet");
    [pixel.red(), pixel.green(), pixel.blue()]
}

/// The elements with a name and a class; an empty class stands for any.
pub(crate) fn elements<'a>(
    document: &'a Document<'a>,
    name: &str,
    class: &str,
) -> Vec<Node<'a, 'a>> {
    let has = |node: &Node| {
        class.is_empty()
            || node.attribute("class").is_some_and(|c| c.split(' ').any(|c| c == class))
    };
    document.descendants().filter(|n| n.has_tag_name(name) && has(n)).collect()
}

/// A numeric attribute.
pub(crate) fn value(node: Node, attribute: &str) -> f64 {
    node.attribute(attribute).and_then(|v| v.parse().ok()).expect("a number")
}

/// The points of a polyline or polygon.
pub(crate) fn points(node: Node) -> Vec<[f64; 2]> {
    let pairs = node.attribute("points").expect("points").split(' ');
    let number = |s: Option<&str>| s.and_then(|s| s.parse().ok()).expect("a number");
    pairs
        .map(|pair| {
            let mut parts = pair.split(',');
            [number(parts.next()), number(parts.next())]
        })
        .collect()
}

/// All text of a figure, a line per element.
pub(crate) fn texts(document: &Document) -> Vec<String> {
    let texts = document.descendants().filter(|n| n.has_tag_name("text"));
    texts.map(|n| n.children().filter(Node::is_text).filter_map(|t| t.text()).collect()).collect()
}
