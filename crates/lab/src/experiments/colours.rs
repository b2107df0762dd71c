//! Colours by what is shown, the same in every figure.

/// The Stein signal of the Langevin operator.
pub(super) const SIGNAL: usize = 0;
/// Errors and accuracies of the model.
pub(super) const ERROR: usize = 1;
/// Likelihoods and lengths of scores.
pub(super) const LIKELIHOOD: usize = 2;
/// The first-order operator.
pub(super) const FIRST_ORDER: usize = 3;
/// The Stein signal computed in another way.
pub(super) const OTHERWISE: usize = 4;
/// What is expected.
pub(super) const EXPECTED: usize = 7;
