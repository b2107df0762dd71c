//! From what a method wants gathered to a plan.

use taste_engine::{Batch, Draft};
use taste_graph::Id;

use crate::{
    Error, Settings,
    divide::Share,
    passes::{Network, Of, Plan, PlanParts, Source, Watch},
};

/// Chunks of a block on average: only the last chunk of a block may be less than full.
const CHUNKS: f64 = 8.0;
/// Samples at once where nothing goes through the engine.
const PLAIN_CHUNK: usize = 1024;

/// The plan of a pass over a share of a data set.
pub(crate) fn plan(
    draft: &Draft,
    settings: &Settings,
    purpose: &str,
    source: Source,
    share: Share,
    watches: &[Watch],
    strict: bool,
) -> Result<Plan, Error> {
    let mut outputs: Vec<(String, Id)> = Vec::new();
    let mut place_of = |id: Id| {
        outputs.iter().position(|o| o.1 == id).unwrap_or_else(|| {
            outputs.push((format!("{}_watch_{}", draft.inputs()[0], outputs.len()), id));
            outputs.len() - 1
        })
    };
    let gathers = watches
        .iter()
        .map(|watch| {
            let place = match watch.of {
                Of::Sample => None,
                Of::Input if draft.is_fed() => None,
                Of::Input => Some(place_of(draft.input())),
                Of::Value(id) => Some(place_of(id)),
            };
            (watch.name.clone(), place, watch.gather)
        })
        .collect();
    let chunk = match (settings.batch, outputs.is_empty()) {
        (Some(batch), _) => batch.max(1),
        (None, true) => PLAIN_CHUNK,
        (None, false) => draft.chunk(&outputs),
    };
    let network = if outputs.is_empty() {
        None
    } else {
        let onnx = taste_onnx::Model::new(draft.graph().to_onnx(&outputs)?);
        Some(Network {
            onnx: onnx.to_bytes().map_err(taste_engine::Error::from)?,
            inputs: draft.inputs(),
            outputs: outputs.into_iter().map(|o| o.0).collect(),
            batch: match draft.batch() {
                Batch::Open => None,
                Batch::Fixed(rows) => Some(rows),
            },
        })
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
    let block = (CHUNKS * chunk as f64 / share.size().max(1e-6)).ceil() as u64;
    Ok(Plan::new(PlanParts {
        purpose: purpose.to_owned(),
        source,
        share,
        block,
        chunk,
        sample_shape: draft.sample_shape(),
        may_miss: draft.may_miss(),
        strict,
        gathers,
        network,
    }))
}
