//! Changes to the metadata of a file, where a detector keeps its manifest as JSON and rows as text.

use taste_onnx::proto::StringStringEntryProto;

use crate::draws::Draws;

/// Removes, repeats, renames or exchanges an entry, or, most often, changes its text.
pub(crate) fn change(entries: &mut Vec<StringStringEntryProto>, r: &mut Draws) {
    let at = r.below(entries.len());
    if at >= entries.len() {
        return;
    }
    match r.below(12) {
        0 => drop(entries.remove(at)),
        1 => entries.push(entries[at].clone()),
        2 => entries[at].key = r.pick(&entries.to_vec()).map(|e| e.key.clone()).unwrap_or_default(),
        3 => {
            entries[at].value =
                r.pick(&entries.to_vec()).map(|e| e.value.clone()).unwrap_or_default();
        }
        _ => text_change(&mut entries[at].value, r),
    }
}

/// Another number, another word of JSON, or a piece less or more.
fn text_change(text: &mut String, r: &mut Draws) {
    let is_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let mut from = r.below(text.len() + 1);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    match r.below(8) {
        0 => text.truncate(from),
        1 => drop(text.pop()),
        2 => text.insert(from, ['"', '{', '[', ',', '0', 'A', '=', '\u{fffd}'][r.below(8)]),
        3 => {
            let end = text[from..]
                .char_indices()
                .nth(1 + r.below(9))
                .map_or(text.len(), |(i, _)| from + i);
            text.replace_range(from..end, "");
        }
        // The next number, or the next value.
        choice => {
            let Some(start) = text[from..].find(|c: char| c.is_ascii_digit()).map(|i| from + i)
            else {
                return;
            };
            let end = text[start..].find(|c| !is_number(c)).map_or(text.len(), |i| start + i);
            let new = match choice {
                4 | 5 => r.int(text[start..end].parse().unwrap_or(1)).to_string(),
                6 => format!("{:?}", r.float()),
                _ => ["null", "true", "[]", "{}", "\"\"", "1e999", "-1", "[0]"][r.below(8)]
                    .to_owned(),
            };
            text.replace_range(start..end, &new);
        }
    }
}
