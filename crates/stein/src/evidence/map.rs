//! Where the evidence of a sample comes from: what goes away when it is moved toward the training data, entry by entry.

use taste_detector::Job;
use taste_graph::{Id, diff::gradient};

use crate::Error;

/// Points of the way at which slopes are taken.
const POINTS: usize = 3;

/// (x − x′)·∂T/∂x, with the slope averaged along the way from x′ to x, in the shape of the samples: its entries add up to
/// T(x) − T(x′) as points grow in number (integrated gradients, Sundararajan, Taly and Yan 2017). Nothing where the score
/// does not depend on the sample by anything that has a slope.
pub(super) fn build(job: &mut Job<'_>, score: Id, moved: Id) -> Result<Option<Id>, Error> {
    let x = job.draft.input();
    let slope = match gradient(&mut job.draft.build(), score, x) {
        // A node without a rule is no reason to fail where nobody asked for a map.
        Err(_) if job.settings.map.is_none() => None,
        found => found?,
    };
    let Some(slope) = slope else { return Ok(None) };
    let mut sum: Option<Id> = None;
    for point in 0..POINTS {
        let place = (point as f64 + 0.5) / POINTS as f64;
        let there =
            job.draft.build().formula([x, moved], |[x, moved]| moved + place * (x - moved))?;
        let slope = job.draft.repeat(slope, there)?;
        sum = Some(match sum {
            None => slope,
            Some(sum) => job.draft.build().add(sum, slope)?,
        });
    }
    let Some(sum) = sum else { return Ok(None) };
    let map = job
        .draft
        .build()
        .formula([x, moved, sum], |[x, moved, sum]| (x - moved) * sum * (1.0 / POINTS as f64))?;
    Ok(Some(map))
}
