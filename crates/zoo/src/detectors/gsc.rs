//! Gradient short-circuit (Gu, Qiao and Li 2025): the features that the logit of the answer depends on most are set to
//! zero, and the logits follow to first order. Variant a, which is taken for the paper's: those with the largest
//! derivatives, and the energy of what is left. Variant c, as in the code of the authors of TASTE: those whose
//! derivatives vary most about the sample, and how much the probability of the answer drops.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step, refused};
use taste_engine::Feature;
use taste_graph::{
    Dim, Id,
    diff::{self, Derivatives},
};
use taste_ops::functions;
use taste_stats::random::Random;

use super::shared::{Logits, as_rows, energy, stored};

pub(super) const FAMILY: &dyn Family = &Gsc { variant: Variant::A, rho: 0.05 };

const CHOICE: Choice = Choice {
    name: "gsc",
    usage: "gsc[:variant=a|c][,rho=0.05]",
    about: "the logits to first order without the features that they depend on most: a, the energy without a share rho \
            of them (1 pass); c, the drop of the probability without those with derivatives that vary about the sample \
            (12)",
};

/// How many samples about one variant c looks at, how far away, and above which quantile derivatives vary much.
const DRAWS: usize = 5;
const NOISE: f64 = 1e-3;
const QUANTILE: f64 = 0.9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    A,
    C,
}

/// Logits without some features.
#[derive(Clone, Copy, Debug)]
struct Gsc {
    variant: Variant,
    /// The share of features that variant a sets to zero.
    rho: f64,
}

impl Entry for Gsc {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Gsc {
    fn about(&self) -> About {
        About { paper: "Gu, Qiao and Li 2025", fit: "0", score: "1; 12 for variant c" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let variant = match arguments.text("variant") {
            None => self.variant,
            Some("a") => Variant::A,
            Some("c") => Variant::C,
            Some(other) => return Err(arguments.unfit("variant", "a or c", other).into()),
        };
        let fits = |r: &f64| *r > 0.0 && *r <= 1.0;
        let rho = arguments.number("rho", "a share above 0, up to 1", fits)?;
        Ok(Arc::new(Self { variant, rho: rho.unwrap_or(self.rho) }))
    }
}

impl Method for Gsc {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        let variant = if self.variant == Variant::A { "a" } else { "c" };
        format!("{}:variant={variant},rho={}", CHOICE.name, self.rho)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let feature = job.draft.features(job.settings.features.as_deref())?;
        let mask = match self.variant {
            Variant::A => self.steepest(job, logits, &feature)?,
            Variant::C => unsteady(job, logits, &feature)?,
        };
        let after = without(job, logits, &feature, mask)?;
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let score = match self.variant {
            Variant::A => energy(&mut b, after)?,
            Variant::C => {
                let [before, after] = [logits.id, after].map(|z| functions::softmax(&mut b, z, 1));
                let drop = b.sub(before?, after?)?;
                logits.of_answer(&mut b, drop)?
            }
        };
        let mut statistic = Statistic::new(b.reshape(score, &[rows])?);
        statistic.facts = json!({ "features": feature.name });
        Ok(statistic.into())
    }
}

impl Gsc {
    /// One where the derivative of the answer's logit is among the largest.
    fn steepest(&self, job: &mut Job<'_>, logits: Logits, feature: &Feature) -> Result<Id, Error> {
        let slope = slope(job, logits, feature)?;
        let width = feature.width;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let masked = ((width as f64 * self.rho).floor() as usize).max(1);
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let sizes = functions::abs(&mut b, slope)?;
        let [_, places] = functions::top_k(&mut b, sizes, 1, masked)?;
        let one = b.scalar(1.0);
        let ones = b.expand(one, &[rows, Dim::from(masked)])?;
        Ok(functions::place(&mut b, ones, places, 1, width)?)
    }
}

/// The derivative of the answer's logit by the features, one row a sample.
fn slope(job: &mut Job<'_>, logits: Logits, feature: &Feature) -> Result<Id, Error> {
    let mut b = job.draft.build();
    let own = logits.of_answer(&mut b, logits.id)?;
    let gradient = diff::gradient(&mut b, own, feature.raw)?;
    let gradient = gradient
        .ok_or_else(|| refused(format!("the logits do not depend on tensor {:?}", feature.name)))?;
    Ok(as_rows(job, gradient)?.0)
}

/// One where derivatives vary more about the sample than most of them do.
fn unsteady(job: &mut Job<'_>, logits: Logits, feature: &Feature) -> Result<Id, Error> {
    let engine = job.engine;
    let head = job.draft.linear_head(feature, logits.id, &engine.backend, engine.threads)?;
    if head.is_some() {
        return Err(refused(format!(
            "gsc:variant=c looks at how derivatives vary, and behind tensor {:?}, before a linear layer, they do not: name \
             features further in",
            feature.name
        )));
    }
    // The answer is that of the sample itself, about which others are drawn.
    let (x, shape) = (job.draft.input(), job.draft.sample_shape());
    let entries: usize = shape.iter().product();
    let mut random = Random::new(job.settings.seed);
    let mut slopes = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let noise = (0..entries).map(|_| NOISE * random.normal()).collect();
        let shape: Vec<usize> = std::iter::once(1).chain(shape.clone()).collect();
        let mut b = job.draft.build();
        let noise = stored(&mut b, &shape, noise)?;
        let near = b.add(x, noise)?;
        let answer = functions::first_max(&mut b, logits.id, 1)?;
        let there = job.draft.repeat(logits.id, near)?;
        let raw = job.draft.repeat(feature.raw, near)?;
        let mut b = job.draft.build();
        let own = b.mul(there, answer)?;
        let gradient = diff::gradient(&mut b, own, raw)?.unwrap_or(raw);
        slopes.push(as_rows(job, gradient)?.0);
    }
    let mut b = job.draft.build();
    let mut total = slopes[0];
    for &slope in &slopes[1..] {
        total = b.add(total, slope)?;
    }
    let mean = b.scale(total, 1.0 / DRAWS as f64)?;
    let mut variance = b.zeros_like(mean)?;
    for &slope in &slopes {
        variance = b.formula([variance, slope, mean], |[v, s, m]| v + (s - m).square())?;
    }
    let place = (feature.width - 1) as f64 * QUANTILE;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
    let above = feature.width - place.floor() as usize;
    let [largest, _] = functions::top_k(&mut b, variance, 1, above)?;
    let low = functions::slice(&mut b, largest, 1, above - 1, 1)?;
    let high = functions::slice(&mut b, largest, 1, above.saturating_sub(2), 1)?;
    let quantile = b.formula([low, high], |[l, h]| l + place.fract() * (h - l))?;
    let below = functions::at_most(&mut b, variance, quantile)?;
    Ok(b.from_offset(1.0, below)?)
}

/// The logits to first order with features at zero where the mask is one.
fn without(job: &mut Job<'_>, logits: Logits, feature: &Feature, mask: Id) -> Result<Id, Error> {
    let mut b = job.draft.build();
    let taken = b.formula([feature.id, mask], |[x, mask]| -(x * mask))?;
    let shape = b.fact(feature.raw).shape.clone();
    let direction = b.reshape(taken, &shape)?;
    let seeds = Derivatives::from([(feature.raw, direction)]);
    let change = diff::jvp(&mut b, &[logits.id], &seeds)?[0];
    match change {
        Some(change) => Ok(b.add(logits.id, change)?),
        None => Ok(logits.id),
    }
}
