//! Data beside the training data: what a look at each column or channel tells, whatever the detector says.

use std::fmt;

use ndarray::ArrayViewD;
use serde::Serialize;

use crate::{
    Detector,
    profile::{Group, Grouping, Profile},
};

/// What is noteworthy about a column or channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// Nothing was missing so often in the training data.
    Missing,
    /// Words that the training data do not have.
    Unseen,
    /// Entries outside of the range of the training data.
    OutOfRange,
    /// All samples have one value, and those of the training data had many.
    Constant,
}

/// Something noteworthy about a column or channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remark {
    /// The column or channel.
    pub name: String,
    /// What it is about.
    pub matter: Matter,
    /// How many samples are concerned.
    pub samples: u64,
    /// Of how many.
    pub of: u64,
    /// The range of its entries.
    pub range: Option<[f32; 2]>,
    /// The range in the training data.
    pub training: Option<[f32; 2]>,
    /// The share of training samples that lack it.
    pub missing_in_training: f64,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, samples, of, .. } = self;
        let share = percent(*samples as f64 / (*of).max(1) as f64);
        let [low, high] = self.range.unwrap_or([f32::NAN; 2]).map(short);
        let [first, last] = self.training.unwrap_or([f32::NAN; 2]).map(short);
        match self.matter {
            Matter::Missing => write!(
                f,
                "{name}: missing in {samples} of {of} samples ({share}; {} of the training data)",
                percent(self.missing_in_training)
            ),
            Matter::Unseen => write!(
                f,
                "{name}: {samples} of {of} samples ({share}) have a word that the training data do not have"
            ),
            Matter::OutOfRange => write!(
                f,
                "{name}: {samples} of {of} samples ({share}) lie outside of the training data, which go from {first} to \
                 {last}; these go from {low} to {high}"
            ),
            Matter::Constant => write!(
                f,
                "{name}: {low} in all {of} samples; the training data go from {first} to {last}"
            ),
        }
    }
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "none".to_owned(),
        p if p < 0.1 => "< 0.1 %".to_owned(),
        p if p > 99.9 && p < 100.0 => "> 99.9 %".to_owned(),
        p => format!("{} %", if p >= 10.0 { format!("{p:.0}") } else { format!("{p:.1}") }),
    }
}

/// Four significant digits.
fn short(value: f32) -> String {
    let text = format!("{value:.3e}");
    match text.parse::<f64>() {
        Ok(v) if v == 0.0 || (1e-3..1e6).contains(&v.abs()) => v.to_string(),
        _ => text,
    }
}

/// Samples that are compared with the training data of a detector as they go by.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    training: &'a Profile,
    grouping: Grouping,
    names: Vec<String>,
    /// The number that stands for unseen words, by column.
    unseen: Vec<Option<f32>>,
    seen: Profile,
    /// Samples outside of the range of the training data, and with unseen words, by group.
    outside: Vec<u64>,
    unknown: Vec<u64>,
}

impl Detector {
    /// Begins to compare samples with the training data; none if the file does not say what those were like.
    pub fn compare(&self) -> Option<Comparison<'_>> {
        let manifest = self.manifest();
        let training = manifest.data.profile.as_ref().filter(|profile| profile.samples > 0)?;
        let grouping = Grouping::of(&manifest.model.sample_shape);
        let groups = grouping.groups();
        if training.groups.len() != groups {
            return None;
        }
        let names = grouping.names(manifest.data.columns.as_deref());
        let words = &manifest.data.reading.words;
        let dictionary = |name: &String| words.iter().find(|d| d.column == *name);
        let unseen = names.iter().map(|n| dictionary(n).map(|d| d.unseen() as f32));
        Some(Comparison {
            training,
            grouping,
            unseen: unseen.collect(),
            names,
            seen: Profile::default(),
            outside: vec![0; groups],
            unknown: vec![0; groups],
        })
    }
}

impl Comparison<'_> {
    /// Looks at samples along the first axis.
    pub fn add(&mut self, samples: &ArrayViewD<'_, f32>) {
        for sample in samples.outer_iter() {
            let ranges = self.grouping.ranges(sample.iter());
            self.seen.add_ranges(&ranges);
            for (at, own) in ranges.iter().enumerate() {
                let known = &self.training.groups[at];
                match self.unseen[at] {
                    Some(code) => {
                        self.unknown[at] += u64::from(own.high.to_bits() == code.to_bits());
                    }
                    None => {
                        self.outside[at] += u64::from(own.low < known.low || own.high > known.high);
                    }
                }
            }
        }
    }

    /// What is noteworthy, the most samples first.
    pub fn remarks(&self) -> Vec<Remark> {
        let (new, old) = (self.seen.samples, self.training.samples);
        let mut remarks = Vec::new();
        let groups = self.seen.groups.iter().zip(&self.training.groups).zip(&self.names);
        for (at, ((own, known), name)) in groups.enumerate() {
            let mut remark = |matter, samples| {
                remarks.push(Remark {
                    name: name.clone(),
                    matter,
                    samples,
                    of: new,
                    range: range(own),
                    training: range(known),
                    missing_in_training: known.missing as f64 / old as f64,
                });
            };
            // Of samples like the training data a few are smaller or larger than all of those.
            if is_many(self.outside[at], new, 2.0, old + 1) {
                remark(Matter::OutOfRange, self.outside[at]);
            } else if new >= FEW
                && range(own).is_some_and(|[l, h]| l.to_bits() == h.to_bits())
                && own.missing == 0
                && known.low < known.high
                && self.unseen[at].is_none()
            {
                remark(Matter::Constant, new);
            }
            if is_many(own.missing, new, known.missing as f64, old) {
                remark(Matter::Missing, own.missing);
            }
            if self.unknown[at] > 0 {
                remark(Matter::Unseen, self.unknown[at]);
            }
        }
        remarks.sort_by_key(|remark| std::cmp::Reverse(remark.samples));
        remarks
    }
}

/// Fewer samples than this may all be alike.
const FEW: u64 = 20;

/// Whether `count` of `new` samples is more than chance makes of a share that is `cases` of `old` samples.
fn is_many(count: u64, new: u64, cases: f64, old: u64) -> bool {
    let expected = new as f64 * cases / old.max(1) as f64;
    // The share itself is known from `old` samples only.
    let deviation = (expected * (1.0 + new as f64 / old.max(1) as f64)).sqrt();
    count > 0 && count as f64 > expected + 4.0 * deviation
}

fn range(group: &Group) -> Option<[f32; 2]> {
    (group.low <= group.high).then_some([group.low, group.high])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_shares_are_short() {
        assert_eq!(
            [0.0, 1.0, -12.345_6, 255.0, 1.5e9].map(short),
            ["0", "1", "-12.35", "255", "1.500e9"]
        );
        assert_eq!(
            [0.0, 0.0002, 0.004, 0.5, 0.9999].map(percent),
            ["none", "< 0.1 %", "0.4 %", "50 %", "> 99.9 %"]
        );
    }

    #[test]
    fn what_chance_explains_is_not_noteworthy() {
        // 1000 of 1000: two are expected outside of the range of as many.
        assert!(!is_many(2, 1000, 2.0, 1001) && !is_many(8, 1000, 2.0, 1001));
        assert!(is_many(20, 1000, 2.0, 1001));
        // Something that never was missing.
        assert!(is_many(1, 1000, 0.0, 1000) && !is_many(0, 1000, 0.0, 1000));
        assert!(!is_many(110, 1000, 100.0, 1000) && is_many(200, 1000, 100.0, 1000));
    }
}
