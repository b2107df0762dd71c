//! What is known of the columns of a table.

use std::collections::BTreeMap;

use taste_data::Samples;
use taste_detector::Error;
use taste_stats::random::Random;

/// Changes a row.
pub type RowChange = Box<dyn Fn(&mut [f32], &mut Random) + Send + Sync>;

/// The columns of a table, and which of them are to be changed.
#[derive(Clone, Debug)]
pub struct Columns {
    names: Vec<String>,
    facts: Vec<Facts>,
    column: Option<usize>,
    with: Option<usize>,
    seed: u64,
}

/// What a pass leaves of a column; cells without a number do not count.
#[derive(Clone, Debug, Default)]
struct Facts {
    count: f64,
    mean: f64,
    squares: f64,
    /// How often each whole number occurs, as long as there are few and nothing else.
    categories: Option<BTreeMap<i64, usize>>,
}

impl Columns {
    /// The most different values of a column of categories.
    pub const MOST_CATEGORIES: usize = 20;

    /// Goes through all rows; `column` and `with` are the names of columns that are to be changed.
    pub(super) fn of(
        data: &dyn Samples,
        column: Option<&str>,
        with: Option<&str>,
        seed: u64,
    ) -> Result<Self, Error> {
        let count = data.sample_shape().iter().product();
        let names = match data.columns() {
            Some(names) => names.to_vec(),
            None => (0..count).map(|i| i.to_string()).collect(),
        };
        let place = |name: Option<&str>| -> Result<Option<usize>, Error> {
            let Some(name) = name else { return Ok(None) };
            names.iter().position(|n| n == name).map(Some).ok_or_else(|| {
                let known = taste_choice::nearest_first(&names, name);
                let shown: Vec<&str> = known.into_iter().take(10).collect();
                taste_detector::refused(format!(
                    "{}: no column {name:?}; there are {}",
                    data.name(),
                    shown.join(", ")
                ))
            })
        };
        let (column, with) = (place(column)?, place(with)?);
        let mut facts =
            vec![Facts { categories: Some(BTreeMap::new()), ..Facts::default() }; count];
        for chunk in data.chunks(1024)? {
            for row in chunk?.values.outer_iter() {
                for (facts, &cell) in facts.iter_mut().zip(row) {
                    facts.add(cell);
                }
            }
        }
        Ok(Self { names, facts, column, with, seed })
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Their names; numbers from 0 on where the data have none.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Those to change: the named one, or all.
    pub fn chosen(&self) -> impl Iterator<Item = usize> {
        match self.column {
            Some(column) => column..column + 1,
            None => 0..self.count(),
        }
    }

    /// The two that are named, if any are.
    pub fn named_pair(&self) -> Result<Option<(usize, usize)>, String> {
        match (self.column, self.with) {
            (Some(a), Some(b)) if a != b => Ok(Some((a, b))),
            (None, None) => Ok(None),
            _ => Err("name two different columns, as column=A,with=B, or none".to_owned()),
        }
    }

    /// The standard deviation.
    pub fn deviation(&self, column: usize) -> f64 {
        let facts = &self.facts[column];
        if facts.count > 1.0 { (facts.squares / (facts.count - 1.0)).sqrt() } else { 0.0 }
    }

    /// The category that occurs least, the smallest of several; none if the column has no categories.
    pub fn rarest_category(&self, column: usize) -> Option<f32> {
        let categories = self.facts[column].categories.as_ref()?;
        let rarest = categories.iter().min_by_key(|(_, count)| **count)?;
        (categories.len() > 1).then_some(*rarest.0 as f32)
    }

    /// Numbers for choices that all rows share.
    pub fn random(&self) -> Random {
        Random::new(self.seed)
    }
}

impl Facts {
    fn add(&mut self, cell: f32) {
        let value = f64::from(cell);
        if !value.is_finite() {
            return;
        }
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
        if let Some(categories) = &mut self.categories {
            #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
            if value.fract() == 0.0 && value.abs() < 1e9 {
                *categories.entry(value as i64).or_default() += 1;
            } else {
                categories.clear();
                self.categories = None;
                return;
            }
            if categories.len() > Columns::MOST_CATEGORIES {
                self.categories = None;
            }
        }
    }
}
