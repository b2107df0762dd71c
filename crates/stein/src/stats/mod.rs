//! Statistics that know nothing of models: moments, conformal p-values, tests of batches.
