//! How deep JSON goes, before it is parsed.

/// Fails if arrays and objects lie within each other more than `most` deep. Anything but that is left to the parser.
pub(crate) fn check(json: &[u8], most: usize) -> Result<(), String> {
    let (mut depth, mut within, mut escaped) = (0usize, false, false);
    for &byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if within => escaped = true,
            b'"' => within = !within,
            b'[' | b'{' if !within => {
                depth += 1;
                if depth > most {
                    return Err(format!(
                        "the JSON has more than {most} arrays and objects within each other"
                    ));
                }
            }
            b']' | b'}' if !within => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        assert!(check(br#"{"a": [[1], [2]], "b": "[[[[\"[[["}"#, 3).is_ok());
        assert!(check(br#"{"a": [[[1]]]}"#, 3).is_err());
        assert!(check(&vec![b'['; 1_000_000], 16).is_err());
    }
}
