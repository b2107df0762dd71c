//! Data beside the training data, in words; and what a look at tables found before they were read.

use std::path::PathBuf;

use anyhow::Result;
use taste_data::{Options, survey};
use taste_detector::Remark;
use taste_files::message::shortened;

use crate::tell;

/// Remarks that are told; there may be one for every column.
pub(crate) const TOLD: usize = 5;

/// Options for tables with words and dates, with a note on what becomes of these.
pub(crate) fn at_tables(paths: &[PathBuf], options: &Options, quiet: bool) -> Result<Options> {
    let found = survey(paths, options)?;
    if quiet {
        return Ok(found.options);
    }
    if !found.left_out.is_empty() {
        let named = found.left_out.iter().map(|(name, what)| format!("{name} ({})", what.name()));
        let named: Vec<String> = named.collect();
        tell(&format!(
            "note: left out {}: the model takes as many columns as there are without (--columns chooses)",
            named.join(", ")
        ));
    }
    for dictionary in &found.options.words {
        if options.words.contains(dictionary) {
            continue;
        }
        tell(&format!(
            "note: {} holds words, which are read as the numbers 0 to {} in the order of the alphabet: {}",
            dictionary.column,
            dictionary.words.len().saturating_sub(1),
            shortened(&dictionary.words.join(", "), 60)
        ));
    }
    Ok(found.options)
}

/// Lines about data beside the training data, at most [`TOLD`].
pub(crate) fn lines(remarks: &[Remark]) -> Vec<String> {
    let mut lines: Vec<String> = remarks.iter().take(TOLD).map(ToString::to_string).collect();
    if let Some(more) = remarks.len().checked_sub(TOLD).filter(|more| *more > 0) {
        lines.push(format!("{more} more of the kind, with --json"));
    }
    lines
}
