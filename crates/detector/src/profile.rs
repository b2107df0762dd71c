//! What samples look like entry by entry: by the columns of tables and the channels of images.

use serde::{Deserialize, Serialize};

use crate::channel_axis;

/// Tables with more columns are looked at as a whole.
const MOST_COLUMNS: usize = 2048;

/// The range of every column or channel, and how often something is missing there. Merges in any order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// How many samples were looked at.
    pub samples: u64,
    /// How many of them lack all entries.
    #[serde(default)]
    pub empty: u64,
    /// The columns of a table, the channels of an image, or all entries together.
    pub groups: Vec<Group>,
}

/// The entries of one column or channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The smallest entry; infinite if there is none.
    #[serde(with = "number")]
    pub low: f32,
    /// The largest entry.
    #[serde(with = "number")]
    pub high: f32,
    /// How many samples have an entry that is NaN.
    pub missing: u64,
}

impl Default for Group {
    fn default() -> Self {
        Self { low: f32::INFINITY, high: f32::NEG_INFINITY, missing: 0 }
    }
}

/// JSON has no infinities: where there is no entry there is no number.
mod number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
        Ok(Option::<f32>::deserialize(deserializer)?.unwrap_or(f32::NAN))
    }
}

/// How the entries of a sample fall into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// Each is its own.
    Columns(usize),
    /// By channels, so many entries one after the other, or one in so many.
    Planes { channels: usize, pixels: usize, last: bool },
    /// All together.
    One,
}

impl Grouping {
    pub(crate) fn of(sample_shape: &[usize]) -> Self {
        let entries: usize = sample_shape.iter().product();
        match (sample_shape, channel_axis(sample_shape)) {
            ([columns @ 1..=MOST_COLUMNS], _) => Self::Columns(*columns),
            (shape, Some(axis)) if (1..=64).contains(&shape[axis]) => {
                let channels = shape[axis];
                Self::Planes { channels, pixels: entries / channels, last: axis == 2 }
            }
            _ => Self::One,
        }
    }

    pub(crate) fn groups(self) -> usize {
        match self {
            Self::Columns(columns) => columns,
            Self::Planes { channels, .. } => channels,
            Self::One => 1,
        }
    }

    /// What the groups are called; `columns` are those of a table.
    pub(crate) fn names(self, columns: Option<&[String]>) -> Vec<String> {
        let count = self.groups();
        match (self, columns.filter(|names| names.len() == count)) {
            (_, Some(names)) => names.to_vec(),
            (Self::One, None) => vec!["entries".to_owned()],
            (Self::Columns(_), None) => (0..count).map(|i| format!("column {i}")).collect(),
            (Self::Planes { .. }, None) => (0..count).map(|i| format!("channel {i}")).collect(),
        }
    }

    /// The group of an entry.
    fn group(self, entry: usize) -> usize {
        match self {
            Self::Columns(_) => entry,
            Self::Planes { channels, last: true, .. } => entry % channels,
            Self::Planes { pixels, .. } => entry / pixels,
            Self::One => 0,
        }
    }

    /// The ranges of a sample, by group.
    pub(crate) fn ranges<'a>(self, sample: impl IntoIterator<Item = &'a f32>) -> Vec<Group> {
        let mut groups = vec![Group::default(); self.groups()];
        for (entry, value) in sample.into_iter().enumerate() {
            let group = &mut groups[self.group(entry)];
            if value.is_nan() {
                group.missing = 1;
            } else {
                group.low = group.low.min(*value);
                group.high = group.high.max(*value);
            }
        }
        groups
    }
}

impl Group {
    fn merge(&mut self, other: &Self) {
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.missing += other.missing;
    }
}

impl Profile {
    /// Adds a sample of a shape.
    pub(crate) fn add<'a>(
        &mut self,
        grouping: Grouping,
        sample: impl IntoIterator<Item = &'a f32>,
    ) {
        self.add_ranges(&grouping.ranges(sample));
    }

    /// Adds a sample by its ranges.
    pub(crate) fn add_ranges(&mut self, own: &[Group]) {
        self.samples += 1;
        self.empty += u64::from(own.iter().all(|group| group.low > group.high));
        self.groups.resize(own.len(), Group::default());
        self.groups.iter_mut().zip(own).for_each(|(group, own)| group.merge(own));
    }

    /// What is missing in samples of a shape: the names of groups, and in how many samples.
    pub(crate) fn missing(
        &self,
        sample_shape: &[usize],
        columns: Option<&[String]>,
    ) -> Vec<(String, u64)> {
        let names = Grouping::of(sample_shape).names(columns);
        let counted = names.into_iter().zip(self.groups.iter().map(|group| group.missing));
        counted.filter(|(_, missing)| *missing > 0).collect()
    }

    /// Adds what was seen of other samples.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.empty += other.empty;
        self.groups.resize(self.groups.len().max(other.groups.len()), Group::default());
        self.groups.iter_mut().zip(&other.groups).for_each(|(group, other)| group.merge(other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_belong_to_their_column_or_channel() {
        let sample = [0.0f32, 1.0, 2.0, 3.0, 4.0, f32::NAN];
        let lows = |shape: &[usize]| -> Vec<f32> {
            Grouping::of(shape).ranges(&sample).iter().map(|g| g.low).collect()
        };
        assert_eq!(lows(&[6])[..5], [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(lows(&[3, 1, 2]), [0.0, 2.0, 4.0]);
        assert_eq!(lows(&[2, 1, 3]), [0.0, 1.0, 2.0]);
        assert_eq!(lows(&[2, 3]), [0.0]);
    }

    #[test]
    fn profiles_merge_and_survive_json() {
        let grouping = Grouping::of(&[2]);
        let (mut a, mut b, mut all) = (Profile::default(), Profile::default(), Profile::default());
        for (i, sample) in [[1.0, f32::NAN], [-2.0, 5.0], [7.0, 6.0]].iter().enumerate() {
            if i == 0 {
                a.add(grouping, sample);
            } else {
                b.add(grouping, sample);
            }
            all.add(grouping, sample);
        }
        a.merge(&b);
        assert_eq!(a, all);
        assert_eq!((a.groups[1].missing, a.groups[1].low.to_bits()), (1, 5f32.to_bits()));
        let text = serde_json::to_string(&a).expect("JSON");
        assert_eq!(serde_json::from_str::<Profile>(&text).expect("a profile"), a);
    }
}
