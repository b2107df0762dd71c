//! What a model is taken for when nobody says what it is.

use taste_engine::Draft;

use crate::{Error, error::request};

/// What the output of a model is taken for, in words, and how to say otherwise.
pub fn taken_for(draft: &Draft) -> Result<String, Error> {
    let (name, width) = (draft.output_name(), draft.width());
    if width == 1 {
        return Ok(format!("one number a sample: the output {name:?} as it is"));
    }
    Ok(if ends_in_softmax(draft)? {
        format!("a classifier of {width} classes, as the output {name:?} is a softmax")
    } else {
        format!(
            "a classifier of {width} classes: the softmax of the output {name:?}. If it is a regressor, choose one of its \
             outputs with --target output:0 to output:{}",
            width - 1
        )
    })
}

/// Whether probabilities are there without a softmax being added.
fn ends_in_softmax(draft: &Draft) -> Result<bool, Error> {
    let mut draft = draft.clone();
    let before = draft.graph().nodes().len();
    draft.probabilities()?;
    Ok(draft.graph().nodes().len() == before)
}

/// Whether an output has an entry.
pub fn check_output(entry: usize, name: &str, width: usize) -> Result<(), Error> {
    if entry < width {
        return Ok(());
    }
    let there = match width {
        1 => "there is output:0 alone".to_owned(),
        n => format!("there are output:0 to output:{}", n - 1),
    };
    Err(request(format!(
        "there is no output:{entry}: the output {name:?} of the model has {width} {}, and {there}",
        if width == 1 { "entry" } else { "entries" }
    )))
}
