//! Targets that a model does not have.

use taste_engine::{Error, Model, Request, Target};
use taste_stein::check_output;

/// The error of a request, in words of outputs if it asks for one that is not there.
pub(crate) fn in_words(model: &Model, asked: &Request, error: Error) -> anyhow::Error {
    if let Some(Target::Output(entry)) = asked.target
        && let Ok(draft) = model.draft(asked)
        && let Err(better) = check_output(entry, draft.output_name(), draft.width())
    {
        return better.into();
    }
    error.into()
}
