//! What a model is taken for when nobody says what it is.

use taste_engine::Draft;

/// What the output of a model is taken for, in words, and how to say otherwise.
pub fn taken_for(draft: &Draft) -> String {
    let (name, width) = (draft.output_name(), draft.width());
    if width == 1 {
        return format!("one number a sample: {name:?} as it is");
    }
    if draft.ends_in_softmax() {
        format!("a classifier of {width} classes, as {name:?} is a softmax")
    } else {
        format!(
            "a classifier of {width} classes: the softmax of {name:?}. If it is a regressor, or every entry stands for \
             itself, choose one: --target output:0 to output:{}",
            width - 1
        )
    }
}
