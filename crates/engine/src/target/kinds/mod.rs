//! The targets, one file each.

use super::TargetKind;

taste_choice::table! {
    /// Every function of the output that can be derived.
    pub TARGETS: [&TargetKind] = {
        prob::KIND,
        probs::KIND,
        logit::KIND,
        logprob::KIND,
        energy::KIND,
        entropy::KIND,
        margin::KIND,
        output::KIND,
    }
}
