//! The weights of a network.

use ndarray::{ArrayD, IxDyn};
use taste_stats::random::{GOLDEN, Random, mix};

use crate::network::Start;

/// A weight that a network asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) start: Start,
}

/// Named weights in the order in which the network uses them.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    entries: Vec<(String, ArrayD<f32>)>,
}

impl Parameters {
    pub(crate) fn draw(declared: &[Declaration], seed: u64) -> Self {
        let entries = declared.iter().enumerate().map(|(number, weight)| {
            let mut random = Random::stream(seed, number as u64);
            let shape = IxDyn(&weight.shape);
            let mut normal = |variance: f64| {
                let deviation = variance.sqrt();
                #[expect(clippy::cast_possible_truncation, reason = "weights are single precision")]
                ArrayD::from_shape_simple_fn(shape.clone(), || (deviation * random.normal()) as f32)
            };
            let values = match weight.start {
                Start::Zeros => ArrayD::zeros(shape),
                Start::Ones => ArrayD::ones(shape),
                Start::He { inputs } => normal(2.0 / inputs as f64),
                Start::Glorot { inputs, outputs } => normal(2.0 / (inputs + outputs) as f64),
            };
            (weight.name.clone(), values)
        });
        Self { entries: entries.collect() }
    }

    pub(crate) fn from_entries(entries: Vec<(String, ArrayD<f32>)>) -> Self {
        Self { entries }
    }

    /// With those of another network in place of its own, where names and shapes are the same.
    pub(crate) fn with(mut self, others: &Self) -> Self {
        for (name, values) in &mut self.entries {
            if let Some(other) = others.get(name).filter(|o| o.shape() == values.shape()) {
                values.assign(other);
            }
        }
        self
    }

    /// A weight by name.
    pub fn get(&self, name: &str) -> Option<&ArrayD<f32>> {
        self.entries.iter().find(|e| e.0 == name).map(|e| &e.1)
    }

    /// The weights with their names, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ArrayD<f32>)> {
        self.entries.iter().map(|(name, values)| (name.as_str(), values))
    }

    /// The same for the same weights alone.
    pub(crate) fn fingerprint(&self) -> String {
        let bits = self.entries.iter().flat_map(|e| e.1.iter().map(|v| v.to_bits()));
        let hash = bits.fold(0, |hash: u64, bits| mix(hash.wrapping_add(GOLDEN) ^ u64::from(bits)));
        format!("{} of them, {hash:016x}", self.count())
    }

    /// How many weights there are, counted by entry.
    pub fn count(&self) -> usize {
        self.entries.iter().map(|e| e.1.len()).sum()
    }
}
