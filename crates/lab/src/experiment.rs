use taste_catalog::{Kind, Listed};
use taste_choice::{Choice, Entry, unknown};

use crate::{EXPERIMENTS, Error, Page, Run};

/// An experiment: one file, one line in [`EXPERIMENTS`].
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its name, and what it is in a sentence.
    pub choice: Choice,
    /// Where the paper has it.
    pub section: &'static str,
    /// What it takes from the folder of data.
    pub data: &'static [Wanted],
    /// What it takes from the folder of models.
    pub models: &'static [Wanted],
    /// Runs it.
    pub run: fn(&Run<'_>) -> Result<Page, Error>,
}

/// A file or folder that an experiment looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its path in the folder.
    pub path: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Whether the experiment does without.
    pub optional: bool,
}

impl Wanted {
    /// What an experiment can't do without.
    pub const fn needed(path: &'static str, what: &'static str) -> Self {
        Self { path, what, optional: false }
    }

    /// What makes an experiment larger, or spares it some training.
    pub const fn optional(path: &'static str, what: &'static str) -> Self {
        Self { path, what, optional: true }
    }

    fn written(&self) -> String {
        if self.optional { format!("[{}]", self.path) } else { self.path.to_owned() }
    }
}

impl std::fmt::Debug for Experiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Experiment").field("choice", &self.choice).finish_non_exhaustive()
    }
}

impl Entry for Experiment {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// An experiment by its name.
pub fn experiment(name: &str) -> Result<&'static Experiment, Error> {
    let found = EXPERIMENTS.iter().find(|e| e.choice.name == name);
    Ok(found.ok_or_else(|| unknown("experiment", EXPERIMENTS, name))?)
}

/// Runs an experiment and writes its page, figures and tables to the folder of the run.
pub fn reproduce(experiment: &'static Experiment, run: &Run<'_>) -> Result<Page, Error> {
    let run = run.of(experiment)?;
    let page = (experiment.run)(&run)?;
    page.write(run.out())?;
    Ok(page)
}

/// Experiments as a kind of things that users choose.
pub const KIND: Kind = Kind {
    choice: Choice {
        name: "experiments",
        usage: "experiments",
        about: "What `taste reproduce` runs; names in brackets are files and folders that it does without.",
    },
    title: "Experiments",
    entries: || EXPERIMENTS.iter().map(listed).collect(),
};

fn listed(experiment: &Experiment) -> Listed {
    let names = |of: &[Wanted]| match of {
        [] => "nothing".to_owned(),
        some => some.iter().map(Wanted::written).collect::<Vec<_>>().join(", "),
    };
    Listed {
        choice: experiment.choice,
        facts: vec![
            ("paper", experiment.section.to_owned()),
            ("data", names(experiment.data)),
            ("models", names(experiment.models)),
        ],
    }
}
