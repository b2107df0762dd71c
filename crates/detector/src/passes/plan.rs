//! What a pass does.

use serde::{Deserialize, Serialize};
use taste_stats::random::mix;

use super::Gather;
use crate::{Error, divide::Share, refused};

/// Which of the data sets a pass goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The training data.
    Train,
    /// The calibration data that were given apart.
    Calibration,
}

/// A graph that samples go through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Network {
    /// An ONNX model.
    pub(crate) onnx: Vec<u8>,
    /// Its inputs, in the order in which samples are spread over them.
    pub(crate) inputs: Vec<String>,
    /// Its outputs.
    pub(crate) outputs: Vec<String>,
    /// How many samples it takes at once, if that is fixed.
    pub(crate) batch: Option<usize>,
}

/// Which samples to look at and what to gather of them: everything that a worker needs, as bytes if need be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    parts: PlanParts,
    id: u64,
}

/// What a plan is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlanParts {
    /// What the samples are for, for people: `samples for the baseline`.
    pub(crate) purpose: String,
    pub(crate) source: Source,
    pub(crate) share: Share,
    /// Rows of a block, see [`super::blocks`].
    pub(crate) block: u64,
    /// Samples that go through the network at once.
    pub(crate) chunk: usize,
    pub(crate) sample_shape: Vec<usize>,
    /// Whether entries may be missing, as the network fills them in or takes them as such.
    pub(crate) may_miss: bool,
    /// Whether a sample with anything that is no number counts for nothing.
    pub(crate) strict: bool,
    /// Name, output of the network (none: the samples as they are) and what is gathered.
    pub(crate) gathers: Vec<(String, Option<usize>, Gather)>,
    pub(crate) network: Option<Network>,
}

impl Plan {
    pub(crate) fn new(parts: PlanParts) -> Self {
        let text = format!(
            "{} {:?} {:?} {} {} {:?} {} {:?}",
            parts.purpose,
            parts.source,
            parts.share,
            parts.block,
            parts.chunk,
            parts.sample_shape,
            parts.may_miss,
            parts.gathers
        );
        let network = parts.network.as_ref().map_or(&[][..], |n| &n.onnx);
        let bytes = text.as_bytes().chunks(8).chain(network.chunks(8));
        let id = bytes.fold(0u64, |id, eight| {
            mix(id ^ eight.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)))
        });
        Self { parts, id }
    }

    /// A pass that only counts.
    pub(crate) fn count(source: Source, sample_shape: &[usize]) -> Self {
        Self::new(PlanParts {
            purpose: "samples counted".to_owned(),
            source,
            share: Share::ALL,
            block: u64::MAX,
            chunk: 1,
            sample_shape: sample_shape.to_vec(),
            may_miss: false,
            strict: true,
            gathers: Vec::new(),
            network: None,
        })
    }

    pub(crate) fn parts(&self) -> &PlanParts {
        &self.parts
    }

    /// What tells the states of this pass from those of others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// What the samples are for, for people.
    pub fn purpose(&self) -> &str {
        &self.parts.purpose
    }

    /// Which of the data sets it goes through.
    pub fn source(&self) -> Source {
        self.parts.source
    }

    /// Whether a row is of the share that the pass looks at.
    pub fn holds(&self, row: u64) -> bool {
        self.parts.share.holds(row)
    }

    /// At which rows data can be cut without changing a bit of the result: at multiples of this number.
    pub fn block(&self) -> u64 {
        self.parts.block
    }

    /// As bytes, to be sent to where the data are.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        postcard::to_stdvec(self).map_err(|e| refused(format!("the plan can't be written: {e}")))
    }

    /// From [`Plan::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        postcard::from_bytes(bytes).map_err(|e| refused(format!("this is no plan of a pass: {e}")))
    }
}
