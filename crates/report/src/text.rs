//! Text: how wide it is, how it is shortened, what its letters look like, how it is escaped.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId};

/// The font of images, and the measure for layouts whose font the reader's browser chooses. It is wider
/// than most, so what fits by its measure fits.
pub(crate) static FONT: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(dejavu::sans::regular(), 0).expect("the font in the program"));

/// The glyph of a character; control characters are blanks.
pub(crate) fn glyph(c: char) -> GlyphId {
    FONT.glyph_index(if c.is_control() { ' ' } else { c }).unwrap_or(GlyphId(0))
}

/// How far the pen moves past a character, as a part of the font's size.
pub(crate) fn advance(c: char) -> f64 {
    let units = FONT.glyph_hor_advance(glyph(c)).unwrap_or(0);
    f64::from(units) / f64::from(FONT.units_per_em())
}

/// The width of a line of text.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// The text if it fits, else its beginning and its end around an ellipsis.
pub(crate) fn shorten(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let mut left = room - width("…", size);
    let (mut head, mut tail) = (0, 0);
    while head + tail < letters.len() {
        // Names differ more often at their ends than in their middle; beginnings matter a little more.
        let from_head = head <= tail;
        let next = if from_head { letters[head] } else { letters[letters.len() - 1 - tail] };
        left -= advance(next) * size;
        if left < 0.0 {
            break;
        }
        if from_head {
            head += 1;
        } else {
            tail += 1;
        }
    }
    let start: String = letters[..head].iter().collect();
    let end: String = letters[letters.len() - tail..].iter().collect();
    format!("{}…{}", start.trim_end(), end.trim_start())
}

/// Words in at most `most_lines` lines of `room`; what is left over is cut off with an ellipsis.
pub(crate) fn wrap(text: &str, size: f64, room: f64, most_lines: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = shorten(word, size, room);
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match longer {
            Some(longer) if width(&longer, size) <= room => {
                lines.pop();
                lines.push(longer);
            }
            _ => lines.push(word),
        }
    }
    if lines.len() > most_lines {
        lines.truncate(most_lines);
        if let Some(line) = lines.last_mut() {
            while width(line, size) + width(" …", size) > room && line.pop().is_some() {}
            line.push_str(" …");
        }
    }
    lines
}

/// Text for the inside of XML and HTML elements and attributes. Characters that XML can't hold are
/// replaced.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            '\r' => {}
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_holds_the_signs_of_the_formulas() {
        for c in "aZ09äéЖαΔ∇σ²√≤≥−×·…|‖→".chars() {
            assert_ne!(glyph(c), GlyphId(0), "{c}");
        }
    }

    #[test]
    fn shortened_text_fits_and_keeps_both_ends() {
        let name = "a_rather_long_name_of_a_feature_number_17";
        let short = shorten(name, 12.0, 120.0);
        assert!(width(&short, 12.0) <= 120.0);
        assert!(short.starts_with("a_rath") && short.ends_with("17"), "{short}");
        assert_eq!(shorten("short", 12.0, 120.0), "short");
        assert_eq!(shorten("no room", 12.0, 0.0), "…");
    }

    #[test]
    fn wrapped_text_keeps_its_words_and_its_limits() {
        let text = "one two three four five six seven eight nine ten";
        let lines = wrap(text, 10.0, 80.0, 99);
        assert_eq!(lines.join(" "), text);
        assert!(lines.iter().all(|l| width(l, 10.0) <= 80.0));
        let cut = wrap(text, 10.0, 80.0, 2);
        assert_eq!(cut.len(), 2);
        assert!(cut[1].ends_with('…') && width(&cut[1], 10.0) <= 80.0, "{cut:?}");
    }

    #[test]
    fn what_markup_would_read_is_escaped() {
        assert_eq!(
            escape("<a b=\"c\">&'\u{1}\u{0}"),
            "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\u{fffd}\u{fffd}"
        );
    }
}
