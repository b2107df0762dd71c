//! Small tables of names, each with what it stands for.

use taste_choice::{Choice, unknown};

use crate::Error;

/// What a name stands for.
pub(crate) fn read<T: Copy>(
    kind: &'static str,
    table: &[(Choice, T)],
    text: &str,
) -> Result<T, Error> {
    let choices: Vec<Choice> = table.iter().map(|t| t.0).collect();
    let found = table.iter().find(|t| t.0.name == text).map(|t| t.1);
    found.ok_or_else(|| unknown(kind, &choices, text).into())
}

/// The name of an entry.
pub(crate) fn of<T: PartialEq>(table: &[(Choice, T)], entry: &T) -> &'static str {
    table.iter().find(|t| t.1 == *entry).map_or("", |t| t.0.name)
}
