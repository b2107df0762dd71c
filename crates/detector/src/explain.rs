//! Where samples differ: which samples to show, and which of their entries.

use std::{cmp::Reverse, collections::BTreeMap};

use ndarray::{ArrayD, IxDyn};
use serde::Serialize;

/// An entry of a map, or of several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntryPart {
    /// The column, or the place in an image.
    pub name: String,
    /// Its part of the map.
    #[serde(rename = "part")]
    pub value: f32,
    /// The same in standard deviations of calibration samples, for tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviations: Option<f32>,
}

/// The samples to show: those that are named, or those with the largest scores.
#[derive(Debug)]
pub struct Chosen<'n, T> {
    named: &'n [usize],
    most: usize,
    samples: BTreeMap<(Reverse<u32>, usize), T>,
}

impl<'n, T> Chosen<'n, T> {
    /// Those with these numbers; if there are none, the `most` with the largest scores.
    pub fn new(named: &'n [usize], most: usize) -> Self {
        Self { named, most, samples: BTreeMap::new() }
    }

    /// Offers a sample, which is made only if it is kept.
    pub fn offer(&mut self, index: usize, score: f32, sample: impl FnOnce() -> T) {
        let by_score = self.named.is_empty();
        if !by_score && !self.named.contains(&index) {
            return;
        }
        let key = (Reverse(if by_score { order(score) } else { 0 }), index);
        if by_score && self.samples.len() == self.most {
            if self.samples.last_key_value().is_some_and(|(last, _)| *last < key) {
                return;
            }
            self.samples.pop_last();
        }
        self.samples.insert(key, sample());
    }

    /// The samples, the largest score first, or in the order of their numbers; an error names one that never came.
    pub fn finish(self) -> Result<Vec<T>, usize> {
        let found = |n: &usize| self.samples.keys().any(|k| k.1 == *n);
        match self.named.iter().find(|n| !found(n)) {
            Some(missing) => Err(*missing),
            None => Ok(self.samples.into_values().collect()),
        }
    }
}

/// A number that orders scores; what is no number comes last.
fn order(score: f32) -> u32 {
    let bits = score.to_bits();
    match (score.is_nan(), score.is_sign_negative()) {
        (true, _) => u32::MAX,
        (false, true) => !bits,
        (false, false) => bits | (1 << 31),
    }
}

/// Sizes of the entries of maps, over all samples with finite maps.
#[derive(Clone, Debug)]
pub struct Sizes {
    samples: usize,
    sums: ArrayD<f64>,
    squares: ArrayD<f64>,
}

impl Sizes {
    /// Of maps of a shape, none seen so far.
    pub fn new(shape: &[usize]) -> Self {
        let zeros = ArrayD::zeros(IxDyn(shape));
        Self { samples: 0, sums: zeros.clone(), squares: zeros }
    }

    /// Adds the map of a sample, with the deviations of its entries where those matter.
    pub fn add(&mut self, map: &ArrayD<f32>, deviations: Option<&[f32]>) {
        if !map.iter().all(|v| v.is_finite()) {
            return;
        }
        self.samples += 1;
        self.sums.zip_mut_with(map, |s, v| *s += f64::from(v.abs()));
        if let Some(deviations) = deviations {
            let scaled = in_deviations(map, deviations);
            self.squares.zip_mut_with(&scaled, |s, v| *s += f64::from(*v).powi(2));
        }
    }

    /// How many samples were added.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Mean sizes.
    #[expect(clippy::cast_possible_truncation, reason = "shown with five digits")]
    pub fn means(&self) -> ArrayD<f32> {
        self.sums.mapv(|s| (s / self.samples.max(1) as f64) as f32)
    }

    /// Root mean squares, in standard deviations of calibration samples.
    #[expect(clippy::cast_possible_truncation, reason = "shown with five digits")]
    pub fn deviations(&self) -> ArrayD<f32> {
        self.squares.mapv(|s| (s / self.samples.max(1) as f64).sqrt() as f32)
    }
}

/// Entries in standard deviations of calibration samples. One that never varied there and is not zero now is infinitely
/// many of them off.
pub fn in_deviations(map: &ArrayD<f32>, deviations: &[f32]) -> ArrayD<f32> {
    let mut scaled = map.clone();
    for (part, &deviation) in scaled.iter_mut().zip(deviations) {
        *part = if *part == 0.0 { 0.0 } else { *part / deviation };
    }
    scaled
}

/// Names of the entries of a map summed over channels.
pub fn entry_names(columns: Option<&[String]>, shape: &[usize]) -> Vec<String> {
    match (columns, shape) {
        (Some(columns), [size]) if columns.len() == *size => columns.to_vec(),
        (_, [height, width]) => (0..height * width)
            .map(|i| format!("row {}, column {}", i / width.max(&1), i % width.max(&1)))
            .collect(),
        _ => (0..shape.iter().product()).map(|i| format!("entry {i}")).collect(),
    }
}

/// The entries of a map with the largest sizes, in deviations where there are such.
pub fn largest(
    map: &ArrayD<f32>,
    deviations: Option<&ArrayD<f32>>,
    names: &[String],
    most: usize,
) -> Vec<EntryPart> {
    let mut parts: Vec<EntryPart> = names
        .iter()
        .zip(map)
        .map(|(name, &value)| EntryPart { name: name.clone(), value, deviations: None })
        .collect();
    if let Some(deviations) = deviations {
        parts.iter_mut().zip(deviations).for_each(|(part, &d)| part.deviations = Some(d));
    }
    let size = |p: &EntryPart| p.deviations.unwrap_or(p.value).abs();
    parts.sort_by(|a, b| size(b).total_cmp(&size(a)));
    parts.truncate(most);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_scores_are_chosen_and_what_is_no_number_comes_first() {
        let mut chosen = Chosen::new(&[], 3);
        for (i, score) in [1.0, -3.0, f32::NAN, 0.5, 7.0, -0.1].into_iter().enumerate() {
            chosen.offer(i, score, || i);
        }
        assert_eq!(chosen.finish(), Ok(vec![2, 4, 0]));
        let named = [5, 1];
        let mut chosen = Chosen::new(&named, 3);
        (0..5).for_each(|i| chosen.offer(i, 0.0, || i));
        assert_eq!(chosen.finish(), Err(5));
    }

    #[test]
    fn entries_are_ranked_in_deviations_where_there_are_such() {
        let map = ArrayD::from_shape_vec(vec![3], vec![1.0f32, -4.0, 2.0]).expect("three");
        let names = entry_names(None, &[3]);
        assert_eq!(largest(&map, None, &names, 2)[0].name, "entry 1");
        let scaled = in_deviations(&map, &[0.1, 4.0, 1.0]);
        assert_eq!(largest(&map, Some(&scaled), &names, 2)[0].name, "entry 0");
    }
}
