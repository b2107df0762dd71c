//! Lists of different lengths, such as the tokens of texts, as rows of one: padded or cut, with the mask that says where they
//! end.

use std::path::PathBuf;

use ndarray::{Array2, ArrayD, ArrayView1, ArrayViewMut1, s};
use serde::{Deserialize, Serialize};

use crate::{Dataset, Error, Options, Problem, error::listed};

/// How lists become rows for a model that takes sequences.
#[expect(clippy::unsafe_derive_deserialize, reason = "the slices of ndarray are unsafe inside")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequences {
    /// How many entries a sequence has.
    pub length: usize,
    /// What follows the last entry of a shorter one.
    pub padding: f32,
    /// What each input of the model is fed with, in their order.
    pub inputs: Vec<(String, Fed)>,
    /// Whether the data have lists under the names of inputs; else their rows are the first input.
    pub by_name: bool,
}

/// Where the entries of an input come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fed {
    /// From the data.
    Given,
    /// Ones as far as the first sequence goes, zeros behind.
    Mask,
    /// Zeros.
    Zeros,
}

/// An input of a model that takes sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// How many entries it takes, if that is fixed.
    pub length: Option<usize>,
}

/// How sequences are brought to one length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Padding {
    /// The length; that of the longest if it is not given.
    pub length: Option<usize>,
    /// What follows the last entry of a shorter one.
    pub with: f32,
}

impl Fed {
    /// What an input that the data do not have is fed with, as its name tells.
    fn by_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        if name.contains("mask") {
            Some(Self::Mask)
        } else if ["token_type", "segment", "type_ids"].iter().any(|part| name.contains(part)) {
            Some(Self::Zeros)
        } else {
            None
        }
    }
}

/// Looks at data for a model that takes sequences: which of its inputs they hold, and how long the longest sequence is unless
/// a length is given. None if they are rows that the model takes as they are.
pub fn sequences(
    paths: &[PathBuf],
    wanted: &[Wanted],
    options: &Options,
    padding: Padding,
) -> Result<Option<Sequences>, Error> {
    let Padding { length, with: padding } = padding;
    let names_alone = Options { only_kept: true, skip_bad: true, ..Options::default() };
    let mut found: Vec<(String, usize)> = Vec::new();
    for path in paths {
        for (name, longest) in Dataset::open(path, &names_alone)?.longest_lists()? {
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = longest.max(*known),
                None => found.push((name, longest)),
            }
        }
    }
    let fixed = wanted.iter().find_map(|w| w.length);
    let is_given = |name: &str| found.iter().any(|(known, _)| known == name);
    let rest = |w: &Wanted| -> Result<(String, Fed), Error> {
        let fed = if is_given(&w.name) { Some(Fed::Given) } else { Fed::by_name(&w.name) };
        let lists: Vec<&String> = found.iter().map(|(name, _)| name).collect();
        let place = paths.first().map_or_else(String::new, |p| crate::standard::shown(p));
        let fed = fed.ok_or_else(|| {
            Error::new(
                place,
                Problem::Format(format!(
                    "the model takes {:?}, and there are lists {}",
                    w.name,
                    listed(&lists)
                )),
            )
        })?;
        Ok((w.name.clone(), fed))
    };
    if wanted.iter().any(|w| is_given(&w.name)) {
        let inputs = wanted.iter().map(rest).collect::<Result<Vec<_>, _>>()?;
        let longest = found.iter().filter(|(n, _)| wanted.iter().any(|w| w.name == *n));
        let longest = longest.map(|(_, length)| *length).max();
        let length = length.or(fixed).or(longest).unwrap_or(0).max(1);
        return Ok(Some(Sequences { length, padding, inputs, by_name: true }));
    }
    let rows = Options { sample_shape: None, ..options.clone() };
    let sample = paths.first().and_then(|path| Dataset::open(path, &rows).ok());
    Ok(sample.and_then(|set| {
        Sequences::of_rows(wanted, set.file_sample_shape(), Padding { length, with: padding })
    }))
}

impl Sequences {
    /// Rows of numbers as the first input of a model that takes sequences, if the others can be made of it. None if they are
    /// as the model takes them.
    pub fn of_rows(wanted: &[Wanted], sample: &[usize], padding: Padding) -> Option<Self> {
        let (first, others) = wanted.split_first()?;
        let &[width] = sample else { return None };
        let made = |w: &Wanted| Fed::by_name(&w.name).map(|fed| (w.name.clone(), fed));
        let others = others.iter().map(made).collect::<Option<Vec<_>>>()?;
        let Padding { length, with: padding } = padding;
        if others.is_empty() && length.is_none() {
            return None;
        }
        let fixed = wanted.iter().find_map(|w| w.length);
        // Columns for every input side by side, or others among them.
        let all = fixed.is_some_and(|l| width == l * wanted.len());
        if all || (length.is_none() && fixed.is_some_and(|l| width > l)) {
            return None;
        }
        let inputs = std::iter::once((first.name.clone(), Fed::Given)).chain(others).collect();
        Some(Self { length: length.or(fixed).unwrap_or(width), padding, inputs, by_name: false })
    }

    /// The inputs that the data hold.
    pub fn given(&self) -> impl Iterator<Item = &String> {
        self.inputs.iter().filter(|(_, fed)| *fed == Fed::Given).map(|(name, _)| name)
    }

    /// How many entries a sample has.
    pub fn width(&self) -> usize {
        self.length * self.inputs.len()
    }

    /// The names of a sample's entries.
    pub(crate) fn names(&self) -> Vec<String> {
        let of = |name: &String| (0..self.length).map(|i| format!("{name}[{i}]")).collect();
        self.inputs.iter().flat_map(|(name, _)| -> Vec<String> { of(name) }).collect()
    }

    /// Whether rows of so many entries are sequences side by side.
    pub(crate) fn fits(&self, width: usize) -> bool {
        self.given().count() == 1 || width == self.length * self.given().count()
    }

    /// Rows of the given sequences side by side as the model takes them; what is not there is NaN.
    pub(crate) fn apply(&self, rows: &ArrayD<f32>) -> ArrayD<f32> {
        let (count, width) = (rows.shape()[0], rows.shape()[1]);
        let rows = rows.view().into_dimensionality::<ndarray::Ix2>().expect("rows");
        let each = if self.given().count() == 1 { width } else { self.length };
        let mut made = Array2::zeros((count, self.width()));
        for (row, mut into) in rows.outer_iter().zip(made.outer_iter_mut()) {
            let real = |v: &f32| !v.is_nan() && (v - self.padding).abs() > 0.0;
            let first = row.slice(s![..each]);
            let end = first.iter().rposition(real).map_or(0, |last| last + 1).min(self.length);
            let mut given = 0;
            for (at, (_, fed)) in self.inputs.iter().enumerate() {
                let mut part = into.slice_mut(s![at * self.length..(at + 1) * self.length]);
                match fed {
                    Fed::Zeros => {}
                    Fed::Mask => part.slice_mut(s![..end]).fill(1.0),
                    Fed::Given => {
                        let padding = if given == 0 { self.padding } else { 0.0 };
                        let from = row.slice(s![given * each..(given + 1) * each]);
                        fill(&mut part, &from, padding);
                        given += 1;
                    }
                }
            }
        }
        made.into_dyn()
    }
}

fn fill(part: &mut ArrayViewMut1<'_, f32>, from: &ArrayView1<'_, f32>, padding: f32) {
    part.fill(padding);
    for (into, &v) in part.iter_mut().zip(from).filter(|(_, v)| !v.is_nan()) {
        *into = v;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn the_mask_ends_where_the_sequence_does() {
        let sequences = Sequences {
            length: 4,
            padding: 9.0,
            inputs: vec![
                ("ids".into(), Fed::Given),
                ("attention_mask".into(), Fed::Mask),
                ("token_type_ids".into(), Fed::Zeros),
            ],
            by_name: true,
        };
        let nan = f32::NAN;
        // Longer ones are cut; an id of padding within a sequence stays what it is.
        let rows =
            array![[5.0, 9.0, 7.0, nan, nan], [1.0, 2.0, 3.0, 4.0, 5.0], [9.0, nan, nan, nan, nan]];
        let made = sequences.apply(&rows.into_dyn());
        let want = array![
            [5.0, 9.0, 7.0, 9.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 2.0, 3.0, 4.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [9.0, 9.0, 9.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ];
        assert_eq!(made, want.into_dyn());
        assert_eq!(sequences.names()[4], "attention_mask[0]");
    }
}
