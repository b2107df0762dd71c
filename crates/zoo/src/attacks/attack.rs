//! What an attack is.

use std::{fmt, sync::Arc};

use ndarray::Array2;
use taste_choice::{Arguments, Choice, Entry, pick};
use taste_detector::Error;

use super::{ATTACKS, Loss, Task, Watch, task::Found};

/// A way to mislead a classifier, with its settings.
pub trait Attack: fmt::Debug + Send + Sync {
    /// As it is chosen, with every setting: equal texts are equal attacks.
    fn written(&self) -> String;

    /// The losses whose gradients it follows in a model of so many classes.
    fn losses(&self, classes: usize) -> Vec<Loss>;

    /// What is to be said of its use on a model of so many classes; an error if it can't be used.
    fn notes(&self, classes: usize) -> Result<Vec<String>, Error> {
        let _ = classes;
        Ok(Vec::new())
    }

    /// A point in the ball and the box for every sample.
    fn run(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Array2<f32>, Error>;
}

/// An attack that looks for points where the model errs, and knows whether it found them.
pub(super) trait Find: Attack {
    fn find(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Found, Error>;
}

/// What an attack needs of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Gradients.
    Gradients,
    /// Answers alone.
    Answers,
}

/// An entry of the table of attacks.
#[derive(Clone, Copy)]
pub struct AttackKind {
    /// What users read of it; where it was published and what it costs included.
    pub choice: Choice,
    /// What it needs of a model.
    pub needs: Needs,
    /// Forward passes of a sample that is not misled, at the defaults; a gradient counts for three.
    pub cost: usize,
    /// Reads its settings.
    pub(super) read: Read,
}

/// Reads the settings of an attack.
pub(super) type Read = fn(&mut Arguments<'_>) -> Result<Arc<dyn Attack>, taste_choice::Error>;

impl Entry for AttackKind {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl fmt::Debug for AttackKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttackKind").field("choice", &self.choice).finish_non_exhaustive()
    }
}

/// Reads an attack as a user writes it.
///
/// ```
/// let attack = taste_zoo::attacks::attack("pgd:steps=10")?;
/// assert_eq!(attack.written(), "pgd:steps=10");
/// let error = taste_zoo::attacks::attack("pdg").expect_err("mistyped");
/// assert!(error.to_string().contains("did you mean pgd?"));
/// # Ok::<(), taste_choice::Error>(())
/// ```
pub fn attack(text: &str) -> Result<Arc<dyn Attack>, taste_choice::Error> {
    let (kind, mut arguments) = pick("attack", ATTACKS, text)?;
    let attack = (kind.read)(&mut arguments)?;
    arguments.finish()?;
    Ok(attack)
}

/// The value of a key that counts something, 1 or more.
pub(super) fn count(
    arguments: &mut Arguments<'_>,
    key: &str,
    default: usize,
) -> Result<usize, taste_choice::Error> {
    const MOST: usize = 1_000_000;
    let found =
        arguments.number(key, "a whole number from 1 to 1000000", |n| (1..=MOST).contains(n));
    Ok(found?.unwrap_or(default))
}

/// The value of a key that is above 0 and at most `most`.
pub(super) fn number(
    arguments: &mut Arguments<'_>,
    key: &str,
    most: f64,
    default: f64,
) -> Result<f64, taste_choice::Error> {
    let wanted = format!("a number above 0, at most {most}");
    Ok(arguments.number(key, &wanted, |n: &f64| *n > 0.0 && *n <= most)?.unwrap_or(default))
}
