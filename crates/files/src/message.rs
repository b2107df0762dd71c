//! Words for messages about files, whose names and contents may be anything.

use std::borrow::Cow;

/// Text from a file, with at most this many characters and without control characters.
pub fn shortened(text: &str, most: usize) -> String {
    let mut kept: String = text.chars().take(most).map(shown).collect();
    if text.chars().nth(most).is_some() {
        kept.push('…');
    }
    kept
}

/// Text for a terminal: nothing in it moves the cursor, changes colours or turns letters around. Line breaks stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let stays = |c: char| matches!(c, '\n' | '\t') || shown(c) == c;
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if stays(c) { c } else { shown(c) }).collect())
}

/// Text that stays on its line.
pub fn in_line(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// What stands for a character: itself, unless it commands the terminal or turns the direction of what follows.
fn shown(c: char) -> char {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || turns { '\u{fffd}' } else { c }
}

/// A shape as `NumPy` prints it, cut short if it is long.
pub fn shape<T: ToString>(sizes: &[T]) -> String {
    const MOST: usize = 8;
    let mut kept: Vec<String> = sizes.iter().take(MOST).map(ToString::to_string).collect();
    if sizes.len() > MOST {
        kept.push("…".to_owned());
    }
    format!("({}{})", kept.join(", "), if kept.len() == 1 { "," } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_and_stays_on_its_line() {
        assert_eq!(shortened("a\nb", 3), "a\u{fffd}b");
        assert_eq!(shortened("été", 2), "ét…");
    }

    #[test]
    fn what_commands_a_terminal_is_replaced() {
        assert_eq!(printable("plain\ttext\n"), "plain\ttext\n");
        assert_eq!(printable("a\u{1b}[31mred\r\u{9b}2J\n"), "a\u{fffd}[31mred\u{fffd}\u{fffd}2J\n");
        assert_eq!(printable("gnp.\u{202e}exe"), "gnp.\u{fffd}exe");
        assert_eq!(in_line("a\nb\tc"), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn shapes_read_as_numpy_prints_them() {
        assert_eq!(shape::<usize>(&[]), "()");
        assert_eq!(shape(&[3]), "(3,)");
        assert_eq!(shape(&[3, 4]), "(3, 4)");
        assert_eq!(shape(&[1; 9]), "(1, 1, 1, 1, 1, 1, 1, 1, …)");
    }
}
