//! Score models that live in other coordinates than the classifier.

use std::{ops::Range, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use taste_detector::{Described, refused};
use taste_graph::{Build, Dim, Id, Tensor};

use super::{Field, FieldSpec, Learner, Learning};
use crate::Error;

/// y = a⊙u + b, with one number for all entries, one for every channel, or one for every entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputMap {
    scale: Vec<f64>,
    shift: Vec<f64>,
}

impl InputMap {
    /// From a and b by channel (the first axis of a sample), by entry, or one number each.
    pub fn new(scale: Vec<f64>, shift: Vec<f64>) -> Result<Self, Error> {
        if scale.is_empty() || shift.is_empty() {
            return Err(refused("an input map needs at least one scale and one shift"));
        }
        if let Some(bad) = scale.iter().find(|a| !a.is_normal()) {
            return Err(refused(format!(
                "an input map's scale wants numbers other than 0, got {bad}"
            )));
        }
        if let Some(bad) = shift.iter().find(|b| !b.is_finite()) {
            return Err(refused(format!("an input map's shift wants finite numbers, got {bad}")));
        }
        Ok(Self { scale, shift })
    }

    /// The same map, if its numbers are some that [`InputMap::new`] takes.
    pub(super) fn checked(self) -> Result<Self, Error> {
        Self::new(self.scale, self.shift)
    }

    /// This map after u ↦ std⊙u + mean: where `self` takes samples x, the result takes (x − mean)/std. No numbers mean 0 and 1.
    pub fn of_normalised(&self, mean: &[f64], std: &[f64]) -> Result<Self, Error> {
        let [mean, std] = [(mean, 0.0), (std, 1.0)]
            .map(|(v, none)| if v.is_empty() { vec![none] } else { v.to_vec() });
        let scale = joined(&self.scale, &std, |a, s| a * s)?;
        let moved = joined(&self.scale, &mean, |a, m| a * m)?;
        Self::new(scale, joined(&moved, &self.shift, |m, b| m + b)?)
    }

    /// The map whose [`InputMap::of_normalised`] is `self`: of samples before the normalisation.
    pub fn before_normalisation(&self, mean: &[f64], std: &[f64]) -> Result<Self, Error> {
        let inverse: Vec<f64> = std.iter().map(|s| 1.0 / s).collect();
        let or_one = |v: &[f64]| if v.is_empty() { vec![1.0] } else { v.to_vec() };
        let or_zero = |v: &[f64]| if v.is_empty() { vec![0.0] } else { v.to_vec() };
        let back = joined(&or_zero(mean), &or_one(&inverse), |m, s| -m * s)?;
        self.of_normalised(&back, &inverse)
    }

    /// Whether y = u.
    pub fn is_identity(&self) -> bool {
        let near = |v: &[f64], to: f64| v.iter().all(|v| (v - to).abs() < 1e-9);
        near(&self.scale, 1.0) && near(&self.shift, 0.0)
    }

    /// From a and b by channel.
    pub fn per_channel(scale: &[f64], shift: &[f64]) -> Result<Self, Error> {
        Self::new(scale.to_vec(), shift.to_vec())
    }

    /// For a classifier whose input is (x − mean)/std by channel, with x in 0..1, and a score model that takes x
    /// stretched to another range: −1..1 for most diffusion models.
    pub fn from_normalisation(mean: &[f64], std: &[f64], to: Range<f64>) -> Result<Self, Error> {
        let width = to.end - to.start;
        let scale = std.iter().map(|s| width * s).collect();
        let shift = mean.iter().map(|m| to.start + width * m).collect();
        Self::new(scale, shift)
    }

    /// The numbers as a constant that broadcasts over samples like `u`.
    fn constant(b: &mut Build<'_>, u: Id, numbers: &[f64]) -> Result<Id, Error> {
        let sample: Vec<usize> = b.fact(u).shape.iter().skip(1).map(|d| d.at(0)).collect();
        let entries: usize = sample.iter().product();
        let mut shape = vec![1; sample.len() + 1];
        match numbers.len() {
            1 => {}
            n if n == sample.first().copied().unwrap_or(1) => shape[1] = n,
            n if n == entries => shape[1..].copy_from_slice(&sample),
            n => {
                return Err(refused(format!(
                    "an input map of {n} numbers does not fit samples {}: it wants 1, one for each of the {} \
                     channels, or one for each of the {entries} entries",
                    b.fact(u),
                    sample.first().copied().unwrap_or(1)
                )));
            }
        }
        Ok(b.graph_mut().stored(Tensor::floats(&shape, numbers.to_vec())?))
    }
}

/// Two lists by entry, of which one may be a single number.
fn joined(a: &[f64], b: &[f64], by: impl Fn(f64, f64) -> f64) -> Result<Vec<f64>, Error> {
    match (a, b) {
        ([a], _) => Ok(b.iter().map(|&b| by(*a, b)).collect()),
        (_, [b]) => Ok(a.iter().map(|&a| by(a, *b)).collect()),
        _ if a.len() == b.len() => Ok(a.iter().zip(b).map(|(&a, &b)| by(a, b)).collect()),
        _ => Err(refused(format!(
            "an input map of {} numbers does not go with a normalisation of {}",
            a.len(),
            b.len()
        ))),
    }
}

/// A score model of y as one of u: `s_u`(u) = a ⊙ `s_y`(a⊙u + b).
#[derive(Debug)]
pub struct Mapped {
    /// From u to y.
    pub map: InputMap,
    /// The score model of y.
    pub inner: Box<dyn Field>,
}

impl Field for Mapped {
    fn describe(&self) -> Value {
        let mut report = self.inner.describe();
        report["input_map"] = json!({ "scale": self.map.scale, "shift": self.map.shift });
        report
    }

    fn noise(&self) -> Vec<f64> {
        // Of noise n in y, u has n/a.
        let (noise, scale) = (self.inner.noise(), &self.map.scale);
        match (noise.len(), scale.len()) {
            (0, _) => noise,
            (1, _) => scale.iter().map(|a| noise[0] / a.abs()).collect(),
            (_, 1) => noise.iter().map(|n| n / scale[0].abs()).collect(),
            _ => noise.iter().zip(scale).map(|(n, a)| n / a.abs()).collect(),
        }
    }

    fn build(&self, b: &mut Build<'_>, u: Id) -> Result<Id, Error> {
        if b.fact(u).shape.iter().skip(1).any(|d: &Dim| d.depends_on_batch()) {
            return Err(refused(format!("samples of an open size: {}", b.fact(u))));
        }
        let scale = InputMap::constant(b, u, &self.map.scale)?;
        let shift = InputMap::constant(b, u, &self.map.shift)?;
        let scaled = b.mul(u, scale)?;
        let y = b.add(scaled, shift)?;
        let score = self.inner.build(b, y)?;
        Ok(b.mul(score, scale)?)
    }
}

/// A score model that sees y = a⊙u + b. For models that are not fitted here.
#[derive(Debug)]
pub struct Through {
    /// From u to y.
    pub map: InputMap,
    /// The model of y.
    pub inner: Arc<dyn FieldSpec>,
}

impl FieldSpec for Through {
    fn learns(&self) -> bool {
        self.inner.learns()
    }

    fn begin(&self, learner: &Learner<'_>) -> Result<Learning, Error> {
        match self.inner.begin(learner)? {
            Learning::Done(inner) if !self.learns() => {
                Ok(Learning::done(Mapped { map: self.map.clone(), inner }))
            }
            _ => Err(refused(
                "a score model that is fitted here learns in the coordinates of the model's input: it needs no map",
            )),
        }
    }
}

/// How the input of a score model relates to samples as they are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Coordinates {
    /// As the file of the model says, or as models of its family take samples.
    #[default]
    AsItSays,
    /// It takes samples as they are.
    Same,
    /// It takes these.
    Map(InputMap),
}

impl FromStr for Coordinates {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.trim() == "none" {
            return Ok(Self::Same);
        }
        let numbers: Option<Vec<f64>> = text.split(',').map(|t| t.trim().parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[scale, shift]) if scale != 0.0 && scale.is_finite() && shift.is_finite() => {
                Ok(Self::Map(InputMap::new(vec![scale], vec![shift])?))
            }
            _ => Err(refused(format!(
                "{text:?} is not a pair of numbers A,B for y = A*x + B, with A not 0, nor the word none"
            ))),
        }
    }
}

impl Coordinates {
    /// The score model as one of samples as they are read.
    pub fn apply(
        &self,
        spec: Arc<dyn FieldSpec>,
        data: &Described,
    ) -> Result<Arc<dyn FieldSpec>, Error> {
        let map = match self {
            Self::Same => None,
            Self::Map(map) => Some(map.clone()),
            Self::AsItSays => match said(&*spec, data)? {
                Some(map) => Some(map),
                None => assumed(&*spec, data)?,
            },
        };
        Ok(match map.filter(|map| !map.is_identity()) {
            Some(map) => Arc::new(Through { map, inner: spec }),
            None => spec,
        })
    }
}

/// The map that the file of the model tells.
fn said(spec: &dyn FieldSpec, data: &Described) -> Result<Option<InputMap>, Error> {
    let Some(card) = spec.card()? else { return Ok(None) };
    let Some(map) = card.input else { return Ok(None) };
    // Bytes that are scaled for one of the two alone.
    let scale = match (card.raw, data.reading.raw) {
        (true, false) if data.bytes => 255.0,
        (false, true) if data.bytes => 1.0 / 255.0,
        _ => 1.0,
    };
    Ok(Some(normalised(&map.of_normalised(&[], &[scale])?, data)?))
}

/// The map that models of the family have.
fn assumed(spec: &dyn FieldSpec, data: &Described) -> Result<Option<InputMap>, Error> {
    match spec.assumed_input() {
        Some(map) if !data.reading.raw => Ok(Some(normalised(&map, data)?)),
        _ => Ok(None),
    }
}

fn normalised(map: &InputMap, data: &Described) -> Result<InputMap, Error> {
    let wide = |list: &[f32]| -> Vec<f64> { list.iter().map(|&v| f64::from(v)).collect() };
    map.of_normalised(&wide(&data.reading.mean), &wide(&data.reading.std))
}

#[cfg(test)]
mod tests {
    use taste_data::InMemory;

    use super::*;
    use crate::fields::{fit, parse, testing};

    #[test]
    fn the_chain_rule_holds_for_numbers_by_channel_by_entry_and_alone() {
        let images = testing::normal_samples(5, 12, 3);
        let images = images.into_shape_with_order(vec![5, 3, 2, 2]).expect("5 × 3 × 2 × 2");
        let samples = InMemory::new("data", images.clone());
        let by_entry: Vec<f64> = (1..=12).map(|i| 0.1 * f64::from(i)).collect();
        for (scale, shift) in [
            (vec![2.0], vec![-1.0]),
            (vec![0.5, -0.2, 1.5], vec![0.1, 0.2, 0.3]),
            (by_entry.clone(), vec![0.0]),
            (vec![3.0], by_entry),
        ] {
            let inner =
                fit(&*parse("standard-normal").expect("read"), &samples, 0).expect("fitted");
            let map = InputMap::new(scale.clone(), shift.clone()).expect("a map");
            let mapped = Mapped { map, inner };
            let scores = testing::scores(&mapped, &images);
            for ((i, u), s) in images.iter().enumerate().zip(&scores) {
                let pick = |numbers: &[f64]| match numbers.len() {
                    1 => numbers[0],
                    3 => numbers[i % 12 / 4],
                    _ => numbers[i % 12],
                };
                let (a, b) = (pick(&scale), pick(&shift));
                // log p(a·u + b) has the derivative −a(a·u + b).
                assert!((s + a * (a * f64::from(*u) + b)).abs() < 1e-12);
            }
            testing::engines_agree(&mapped, &images);
            assert_eq!(mapped.describe()["input_map"]["scale"], json!(scale));
        }
    }

    #[test]
    fn a_normalisation_leads_to_the_range_of_the_score_model() {
        let map =
            InputMap::from_normalisation(&[0.5, 0.4], &[0.25, 0.2], -1.0..1.0).expect("a map");
        let want = InputMap::per_channel(&[0.5, 0.4], &[0.0, -0.2]).expect("a map");
        for (a, b) in map.scale.iter().chain(&map.shift).zip(want.scale.iter().chain(&want.shift)) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn normalisations_are_taken_back() {
        let map = InputMap::new(vec![2.0], vec![-1.0]).expect("a map");
        let (mean, std) = ([0.5, 0.4], [0.25, 0.2]);
        // u = 1 in both channels is x = (0.75, 0.6), and y = 2x − 1.
        let of_u = map.of_normalised(&mean, &std).expect("a map");
        let y: Vec<f64> = of_u.scale.iter().zip(&of_u.shift).map(|(a, b)| a + b).collect();
        assert!((y[0] - 0.5).abs() < 1e-12 && (y[1] - 0.2).abs() < 1e-12, "{y:?}");
        let back = of_u.before_normalisation(&mean, &std).expect("a map");
        for (a, b) in back.scale.iter().zip(&back.shift) {
            assert!((a - 2.0).abs() < 1e-12 && (b + 1.0).abs() < 1e-12);
        }
        let same = InputMap::new(vec![1.0], vec![0.0]).expect("a map");
        assert!(same.of_normalised(&[], &[]).expect("a map").is_identity());
        assert!(!same.of_normalised(&[0.1], &[]).expect("a map").is_identity());
        assert!(of_u.of_normalised(&[1.0, 2.0, 3.0], &[]).is_err());
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_in_a_sentence() {
        assert!(InputMap::new(vec![], vec![0.0]).is_err());
        assert!(InputMap::new(vec![0.0], vec![0.0]).is_err());
        assert!(InputMap::new(vec![1.0], vec![f64::NAN]).is_err());
        let samples = InMemory::new("data", testing::normal_samples(5, 4, 3));
        let inner = fit(&*parse("standard-normal").expect("read"), &samples, 0).expect("fitted");
        let map = InputMap::per_channel(&[1.0, 2.0, 3.0], &[0.0]).expect("a map");
        let message = testing::try_scores(&Mapped { map, inner }, samples.values());
        let message = message.expect_err("3 for 4").to_string();
        assert!(message.contains("3 numbers does not fit"), "{message}");
    }
}
