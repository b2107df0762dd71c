//! What to do about an error, in the words of the command line: libraries say what is wrong, and know no flags.

use std::path::Path;

use anyhow::{Error, anyhow};
use taste_detector::Error as Detection;

/// What the user can do, to be added to the message.
pub(crate) fn hint(error: &Error) -> Option<String> {
    detection(error.downcast_ref::<Detection>()?)
}

/// An error about a file, with what the user can do.
pub(crate) fn about(file: &Path, error: &Detection) -> Error {
    anyhow!("{}: {error}{}", file.display(), detection(error).unwrap_or_default())
}

fn detection(error: &Detection) -> Option<String> {
    match error {
        Detection::TooFew(shortage) if shortage.hold_out.is_some() => {
            Some(" (--held-out, --alpha)".to_owned())
        }
        Detection::TooFew(_) => Some(" (--alpha)".to_owned()),
        Detection::NoMaps => Some(": fit it again with --map to see where a sample differs".to_owned()),
        Detection::KeepsRows { .. } => Some(" (--no-rows)".to_owned()),
        _ => None,
    }
}
