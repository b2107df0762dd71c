//! Methods and score models of all crates.

use std::sync::{Arc, LazyLock};

use taste_choice::pick;
use taste_detector::{Error, Family, Method, Named};
use taste_stein::{Stein, fields::Families};

/// Every score model, those that are trained here and those that are imported among them.
pub fn score_models() -> Families {
    Families::default().with(taste_train::FAMILIES)
}

/// Every method.
pub fn methods() -> Vec<&'static dyn Family> {
    static STEIN: LazyLock<Stein> = LazyLock::new(|| Stein::new(score_models()));
    let stein: &'static dyn Family = &*STEIN;
    [taste_stein::evidence::FAMILY, taste_stein::evidence_map::FAMILY, stein]
        .into_iter()
        .chain(taste_zoo::DETECTORS.iter().copied())
        .collect()
}

/// Reads a method as a user writes it, with the options that were given by name.
pub fn method(text: &str, named: &Named) -> Result<Arc<dyn Method>, Error> {
    let table = methods();
    let (family, mut arguments) = pick("method", &table, text)?;
    named.check(*family)?;
    let method = family.read(&mut arguments, named)?;
    arguments.finish()?;
    Ok(method)
}
