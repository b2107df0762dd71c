//! A corruption as a user writes it.

use taste_choice::{Arguments, pick};
use taste_data::Samples;
use taste_detector::{Error, refused};
use taste_stats::random::{self, Random};

use super::{Act, CORRUPTIONS, Columns, Corruption, Picture, RowChange, Suite};

/// Severities.
const SEVERITIES: u8 = 5;
/// The severity where none is asked for.
const MIDDLE: u8 = 3;

/// How strong a corruption is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strength {
    /// From 1 to 5.
    Severity(u8),
    /// All severities in turns: the sample at place i has severity 1 + i mod 5.
    Mixed,
    /// An amount in the corruption's own unit.
    Amount(f64),
    /// The only one that there is.
    Only,
}

/// A corruption, its strength and its seed.
#[derive(Clone, Debug)]
pub struct Recipe {
    corruption: &'static Corruption,
    strength: Strength,
    column: Option<String>,
    with: Option<String>,
    seed: u64,
}

impl Recipe {
    /// Reads `fog`, `fog:5`, `fog:mixed`, `rotate:degrees=30` or `unit-change:2,column=age`. Underscores in names will do.
    pub fn read(text: &str) -> Result<Self, Error> {
        Ok(Self::parse(text)?)
    }

    fn parse(text: &str) -> Result<Self, taste_choice::Error> {
        let (name, rest) = text.split_at(text.find([':', ',']).unwrap_or(text.len()));
        let text = name.replace('_', "-") + rest;
        let (corruption, mut arguments) = pick("corruption", CORRUPTIONS, &text)?;
        let mut recipe =
            Self { corruption, strength: Strength::Only, column: None, with: None, seed: 0 };
        if let Act::Table(_) = corruption.act {
            recipe.column = arguments.text("column").map(str::to_owned);
            if corruption.choice.usage.contains("with=") {
                recipe.with = arguments.text("with").map(str::to_owned);
            }
        }
        recipe.strength = strength(corruption, &mut arguments)?;
        arguments.finish()?;
        Ok(recipe)
    }

    /// At another severity, unless the text said one; `mixed` is all in turns.
    pub fn with_severity(self, severity: &str) -> Result<Self, Error> {
        let name = self.corruption.choice.name;
        if matches!(self.corruption.act, Act::Once(_)) {
            return Err(refused(format!(
                "the corruption {name} has one strength and no severities"
            )));
        }
        let mut arguments =
            Arguments::new("corruption", self.corruption.choice.usage, Some(severity));
        let strength = strength(self.corruption, &mut arguments)?;
        arguments.finish()?;
        Ok(Self { strength, ..self })
    }

    /// With another seed than 0.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The corruption.
    pub fn corruption(&self) -> &'static Corruption {
        self.corruption
    }

    /// How strong it is.
    pub fn strength(&self) -> Strength {
        self.strength
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether it changes rows of tables, and not pictures.
    pub fn is_for_tables(&self) -> bool {
        matches!(self.corruption.act, Act::Table(_))
    }

    /// As it is written.
    pub fn text(&self) -> String {
        let mut parts = Vec::new();
        match (self.strength, self.corruption.act) {
            (Strength::Severity(severity), _) => parts.push(severity.to_string()),
            (Strength::Mixed, _) => parts.push("mixed".to_owned()),
            (Strength::Amount(amount), Act::Measured(unit)) => {
                parts.push(format!("{}={amount}", unit.key));
            }
            (Strength::Amount(_) | Strength::Only, _) => {}
        }
        parts.extend(self.column.iter().map(|c| format!("column={c}")));
        parts.extend(self.with.iter().map(|c| format!("with={c}")));
        let name = self.corruption.choice.name;
        if parts.is_empty() { name.to_owned() } else { format!("{name}:{}", parts.join(",")) }
    }

    /// A picture, corrupted: channels (one or three), height and width of at least 8, entries from 0 to 1. `place` is its
    /// number in the data, which its random numbers depend on.
    pub fn picture(&self, picture: &Picture, place: usize) -> Result<Picture, Error> {
        check(picture.shape())?;
        let random = &mut self.random(place);
        match (self.corruption.act, self.strength) {
            (Act::Graded(apply), _) => Ok(apply(picture, self.level(place), random)),
            (Act::Once(apply), _) => Ok(apply(picture, random)),
            (Act::Measured(unit), Strength::Amount(amount)) => {
                Ok((unit.apply)(picture, amount, random))
            }
            (Act::Measured(unit), _) => {
                Ok((unit.apply)(picture, unit.at[self.level(place)], random))
            }
            (Act::Table(_), _) => Err(refused(format!(
                "the corruption {} is for tables, and these are pictures",
                self.corruption.choice.name
            ))),
        }
    }

    /// Fails where the samples are not what it changes: pictures, or rows of tables.
    pub(super) fn check(&self, data: &dyn Samples) -> Result<(), Error> {
        let shape = data.sample_shape();
        let (wanted, fits) = if self.is_for_tables() {
            ("tables", shape.len() == 1)
        } else {
            ("pictures", matches!(shape.len(), 2 | 3))
        };
        if fits {
            return Ok(());
        }
        let found = match data.columns() {
            Some(_) => "it is a table".to_owned(),
            None => format!("its samples have the shape {shape:?}"),
        };
        let name = self.corruption.choice.name;
        Err(refused(format!("{}: the corruption {name} is for {wanted}, and {found}", data.name())))
    }

    /// What changes the rows of a table, after a pass through them.
    pub fn rows(&self, data: &dyn Samples) -> Result<Rows<'_>, Error> {
        self.check(data)?;
        let name = self.corruption.choice.name;
        let Act::Table(act) = self.corruption.act else {
            return Err(refused(format!("the corruption {name} is for pictures")));
        };
        let seed = random::hash(self.seed, name_seed(name));
        let columns = Columns::of(data, self.column.as_deref(), self.with.as_deref(), seed)?;
        let start = |level| {
            (act.start)(&columns, level)
                .map_err(|reason| refused(format!("{}: {name}: {reason}", data.name())))
        };
        let levels: Vec<usize> = match self.strength {
            Strength::Mixed => (0..usize::from(SEVERITIES)).collect(),
            _ => vec![self.level(0)],
        };
        let changes = levels.into_iter().map(start).collect::<Result<_, _>>()?;
        Ok(Rows { recipe: self, columns, changes })
    }

    fn random(&self, place: usize) -> Random {
        Random::stream(
            random::hash(self.seed, name_seed(self.corruption.choice.name)),
            place as u64,
        )
    }

    /// The severity of a sample, from 0 on.
    fn level(&self, place: usize) -> usize {
        match self.strength {
            Strength::Severity(severity) => usize::from(severity - 1),
            Strength::Mixed => place % usize::from(SEVERITIES),
            Strength::Amount(_) | Strength::Only => 0,
        }
    }
}

/// Changes of the rows of a table.
pub struct Rows<'a> {
    recipe: &'a Recipe,
    columns: Columns,
    changes: Vec<RowChange>,
}

impl std::fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("recipe", self.recipe).finish_non_exhaustive()
    }
}

impl Rows<'_> {
    /// The columns.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Changes a row.
    pub fn change(&self, row: &mut [f32], place: usize) {
        (self.changes[place % self.changes.len()])(row, &mut self.recipe.random(place));
    }
}

/// The corruptions that a list names: recipes, or whole suites such as `cifar10-c`, whose severities are mixed.
pub fn recipes<S: AsRef<str>>(list: &[S]) -> Result<Vec<Recipe>, Error> {
    let mut all = Vec::new();
    for text in list.iter().map(AsRef::as_ref) {
        let Some(suite) = Suite::ALL.into_iter().find(|suite| suite.name() == text) else {
            all.push(Recipe::read(text)?);
            continue;
        };
        for corruption in CORRUPTIONS.iter().filter(|c| c.suite == suite) {
            let recipe = Recipe::read(corruption.choice.name)?;
            all.push(match corruption.act {
                Act::Once(_) => recipe,
                _ => recipe.with_severity("mixed")?,
            });
        }
    }
    Ok(all)
}

/// A number for a name.
fn name_seed(name: &str) -> u64 {
    name.bytes().fold(0, |seed, byte| random::hash(seed, u64::from(byte)))
}

fn strength(
    corruption: &Corruption,
    arguments: &mut Arguments<'_>,
) -> Result<Strength, taste_choice::Error> {
    if let Act::Once(_) = corruption.act {
        return Ok(Strength::Only);
    }
    if let Act::Measured(unit) = corruption.act
        && let Some(amount) = arguments.number(unit.key, unit.wanted, |a: &f64| (unit.fits)(*a))?
    {
        return Ok(Strength::Amount(amount));
    }
    if arguments.flag("mixed") {
        return Ok(Strength::Mixed);
    }
    let fits = |s: &u8| (1..=SEVERITIES).contains(s);
    let given = arguments.word_as("SEVERITY", "1, 2, 3, 4, 5 or mixed", fits)?;
    Ok(Strength::Severity(given.unwrap_or(MIDDLE)))
}

/// Pictures that can be corrupted.
fn check(shape: &[usize]) -> Result<(), Error> {
    const LEAST: usize = 8;
    match shape {
        [1 | 3, height, width] if *height >= LEAST && *width >= LEAST => Ok(()),
        [1 | 3, height, width] => Err(refused(format!(
            "pictures of {height} × {width} pixels are too small for corruptions, which need {LEAST} × {LEAST}"
        ))),
        _ => Err(refused(format!(
            "pictures have 1 or 3 channels, and these have the shape {shape:?} (channels, height, width)"
        ))),
    }
}
