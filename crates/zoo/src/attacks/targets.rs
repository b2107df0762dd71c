//! Classes that attacks aim at: the likeliest ones beside the label, one after the other.

use taste_detector::Error;

use super::{Task, Watch, task::Found};

/// How many, if nothing else is asked for.
pub(super) const COUNT: usize = 9;

/// Runs an attack towards each of the likeliest other classes, for samples that are not misled yet. The attack gets the
/// samples, the class that each is led to, and the rank of that class from 0 on.
pub(super) fn each(
    task: &Task<'_>,
    count: usize,
    watch: &mut Watch<'_>,
    mut attack: impl FnMut(&Task<'_>, &[usize], usize, &mut Watch<'_>) -> Result<Found, Error>,
) -> Result<Found, Error> {
    let mut found = Found::none(task);
    let count = count.min(task.victim.classes().saturating_sub(1));
    for rank in 0..count {
        let left = found.left();
        let rest = task.select(&left);
        let aims = rest.targets(rank);
        let mut part = watch.part(1.0 / (count - rank) as f64);
        found.take(&left, &attack(&rest, &aims, rank, &mut part)?);
    }
    Ok(found)
}

/// What is to be said where a model has fewer classes than asked for.
pub(super) fn notes(name: &str, count: usize, classes: usize) -> Vec<String> {
    let there = classes.saturating_sub(1);
    let fewer = count > there;
    let note = || {
        let s = if there == 1 { "" } else { "es" };
        format!(
            "{name}: {there} class{s} to aim at, as the model has {classes}, in place of {count}"
        )
    };
    fewer.then(note).into_iter().collect()
}
