//! Words for messages about files, whose names and contents may be anything.

/// Text from a file, with at most this many characters and without control characters.
pub fn shortened(text: &str, most: usize) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut kept: String = text.chars().take(most).map(clean).collect();
    if text.chars().nth(most).is_some() {
        kept.push('…');
    }
    kept
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
    fn shapes_read_as_numpy_prints_them() {
        assert_eq!(shape::<usize>(&[]), "()");
        assert_eq!(shape(&[3]), "(3,)");
        assert_eq!(shape(&[3, 4]), "(3, 4)");
        assert_eq!(shape(&[1; 9]), "(1, 1, 1, 1, 1, 1, 1, 1, …)");
    }
}
