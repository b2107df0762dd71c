//! What a model is taken for when nobody says what it is.

use taste_engine::{Draft, Target, Wants};

use crate::{Error, error::request};

/// What the output of a model is taken for, in words, and how to say otherwise.
pub fn taken_for(draft: &Draft) -> String {
    let (name, width) = (draft.output_name(), draft.width());
    if width == 1 {
        return format!("one number a sample: {name:?} as it is");
    }
    if ends_in_softmax(draft) {
        format!("a classifier of {width} classes, as {name:?} is a softmax")
    } else {
        format!(
            "a classifier of {width} classes: the softmax of {name:?}. If it is a regressor, choose an output: --target output:0 \
             to output:{}",
            width - 1
        )
    }
}

/// Whether probabilities are the output itself. Equal values of a graph exist once.
fn ends_in_softmax(draft: &Draft) -> bool {
    let mut draft = draft.clone();
    let mut value = |target| Some(draft.derive(target, Wants::default(), None).ok()?.value);
    let (first, probability) = (value(Target::Output(0)), value(Target::Prob(Some(0))));
    first.is_some() && first == probability
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
