//! Which labels belong to which set.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use taste_data::{Dataset, Labels, Options};
use taste_detector::Detector;
use taste_zoo::evaluation::{Truth, group_of};

use super::sets::{Named, split};
use crate::{args::EvaluateArgs, table::count, tell};

/// Where labels come from.
enum Source {
    File(Labels),
    Column(String),
    Own,
}

impl Source {
    fn read(text: &str, known: &Options) -> Result<Self> {
        Ok(match text {
            "own" => Self::Own,
            _ if Path::new(text).is_file() => Self::File(Labels::open(Path::new(text), known)?),
            _ => Self::Column(text.to_owned()),
        })
    }
}

/// All labels that were named.
pub(super) struct Known {
    id: Option<Source>,
    /// With the set or group that they are for; none for all.
    sets: Vec<(Option<String>, Source)>,
}

/// Where a set's labels are.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a>(Option<&'a Source>);

/// A set that is open, with its labels.
pub(super) struct Open<'a> {
    pub(super) data: Dataset,
    labels: OpenLabels<'a>,
}

enum OpenLabels<'a> {
    None,
    Own,
    Given(&'a Labels),
    Read(Labels),
}

impl Open<'_> {
    pub(super) fn truth(&self) -> Truth<'_> {
        match &self.labels {
            OpenLabels::None => Truth::Unknown,
            OpenLabels::Own => Truth::Own,
            OpenLabels::Given(labels) => Truth::Given(labels),
            OpenLabels::Read(labels) => Truth::Given(labels),
        }
    }
}

impl Known {
    /// Labels are the classes of a detector.
    pub(super) fn read(args: &EvaluateArgs, detector: &Detector) -> Result<Self> {
        let known = detector.reading_of_labels(args.skip_bad);
        let read = |text: &str| Source::read(text, &known);
        let id = args.id_labels.as_deref().map(read).transpose()?;
        let one = |text: &String| -> Result<(Option<String>, Source)> {
            let (name, rest) = split(text);
            Ok((name.map(str::to_owned), read(rest)?))
        };
        Ok(Self { id, sets: args.labels.iter().map(one).collect::<Result<_>>()? })
    }

    /// The files among what was named.
    pub(super) fn files(args: &EvaluateArgs) -> Vec<PathBuf> {
        let texts = args.labels.iter().map(|text| split(text).1);
        let all = texts.chain(args.id_labels.as_deref()).map(PathBuf::from);
        all.filter(|path| path.is_file()).collect()
    }

    pub(super) fn of_id(&self) -> Kept<'_> {
        Kept(self.id.as_ref())
    }

    /// Where the labels of each set are; those for a name before those for a group, and those before the ones for all.
    pub(super) fn of_sets(
        &self,
        sets: &[Named],
        detector: &Detector,
        args: &EvaluateArgs,
    ) -> Result<Vec<Kept<'_>>> {
        let is_of = |name: &str, set: &Named| set.name == name || group_of(&set.name) == Some(name);
        for (name, _) in &self.sets {
            if let Some(name) = name
                && !sets.iter().any(|set| is_of(name, set))
            {
                bail!("--labels {name}=…: no set and no group of sets is called {name}");
            }
        }
        let of = |set: &Named| -> Option<&Source> {
            let by = |fits: &dyn Fn(&str) -> bool| {
                self.sets.iter().find(|(name, _)| name.as_deref().is_some_and(fits))
            };
            let found = by(&|name| set.name == name);
            found.or_else(|| by(&|name| is_of(name, set))).map(|(_, source)| source)
        };
        let mut kept: Vec<Kept<'_>> = sets.iter().map(|set| Kept(of(set))).collect();
        for (_, source) in self.sets.iter().filter(|(name, _)| name.is_none()) {
            spread(source, sets, &mut kept, detector, args)?;
        }
        Ok(kept)
    }
}

/// Gives labels without a name to all sets without labels that they can belong to.
fn spread<'a>(
    source: &'a Source,
    sets: &[Named],
    kept: &mut [Kept<'a>],
    detector: &Detector,
    args: &EvaluateArgs,
) -> Result<()> {
    let mut names = Vec::new();
    for (set, kept) in sets.iter().zip(kept).filter(|(_, kept)| kept.0.is_none()) {
        if let Source::File(labels) = source {
            let rows = detector.open_data(&set.path, args.skip_bad)?.rows()?;
            if rows != labels.values().len() {
                continue;
            }
        }
        kept.0 = Some(source);
        names.push(set.name.as_str());
    }
    let Source::File(labels) = source else { return Ok(()) };
    let held = labels.values().len();
    if names.is_empty() {
        bail!("{}: {held} labels, and no shifted set has as many samples", labels.name());
    }
    if !args.run.quiet() {
        let sets = count(names.len(), "set");
        tell(&format!(
            "note: {} is taken for the labels of the {sets} with {held} samples: {}",
            labels.name(),
            names.join(", ")
        ));
    }
    Ok(())
}

impl<'a> Kept<'a> {
    /// Opens a set for a detector, with its labels.
    pub(super) fn open(self, path: &Path, detector: &Detector, skip_bad: bool) -> Result<Open<'a>> {
        let mut options = detector.reading();
        options.skip_bad |= skip_bad;
        match self.0 {
            None => Ok(Open { data: Dataset::open(path, &options)?, labels: OpenLabels::None }),
            Some(Source::Own) => {
                let data = Dataset::open(path, &Options { labels: true, ..options })?;
                Ok(Open { data, labels: OpenLabels::Own })
            }
            Some(Source::File(labels)) => {
                let data = Dataset::open(path, &options)?;
                labels.check_count(data.rows()?, &path.display().to_string())?;
                Ok(Open { data, labels: OpenLabels::Given(labels) })
            }
            Some(Source::Column(column)) => {
                options.exclude.push(column.clone());
                let data = Dataset::open(path, &options)?;
                if !data.is_table() {
                    bail!(
                        "--labels {column}: there is no such file, and {data} is no table with columns"
                    );
                }
                let known = detector.reading_of_labels(options.skip_bad);
                let labels = Labels::column(&[path.to_owned()], column, &known)?;
                Ok(Open { data, labels: OpenLabels::Read(labels) })
            }
        }
    }
}
