//! The two passes over held-out samples: mean residuals, then scores.

use ndarray::{Array2, ArrayView1, Axis};
use taste_data::Samples;
use taste_engine::{Draft, Method, Request, Target, Value, Wants};
use taste_graph::Id;

use super::{Division, Fit, Plan, Stage};
use crate::{
    Aggregate, Error, Tail,
    decision::{Baseline, Learnt},
    error::request,
    over_channels,
    profile::Rule,
    residual::{Residual, Subject},
    stats::{
        moments::Moments,
        quantile::{self, Quantile},
    },
};

/// How many numbers are kept of held-out samples, to learn from and as a reference for batches.
const KEPT: usize = 400_000;
/// A probability within this of 1 leaves single precision no residual.
const SATURATED: f32 = 1e-6;
/// Samples on which two ways to compute the Laplacian are compared.
const COMPARED: usize = 32;

/// Means of several numbers, and how they vary.
pub(crate) struct Spread {
    pub(crate) means: Vec<f64>,
    pub(crate) errors: Vec<f64>,
    pub(crate) deviations: Vec<f64>,
}

impl Spread {
    fn of(moments: &Moments) -> Option<Self> {
        Some(Self {
            means: moments.mean()?.to_vec(),
            errors: moments.standard_error()?,
            deviations: moments.variance()?.into_iter().map(f64::sqrt).collect(),
        })
    }
}

/// What the first pass finds.
pub(crate) struct HeldOut {
    /// Samples with residuals.
    pub(crate) used: usize,
    /// Of the residuals of every component.
    pub(crate) components: Spread,
    /// Of the residual of the predicted class, or of the only function.
    single: Spread,
    /// Of the entries of maps.
    pub(crate) map: Option<Spread>,
    /// Samples with entries that are not finite.
    pub(crate) bad_inputs: usize,
    /// Samples with finite entries whose residuals are not.
    pub(crate) bad_residuals: usize,
    /// Samples whose largest probability is 1 in single precision.
    pub(crate) saturated: usize,
    /// Whether probabilities were looked at.
    pub(crate) has_probabilities: bool,
    /// The smallest and the largest value of every entry.
    pub(crate) ranges: Vec<(f32, f32)>,
    /// Mean sizes of Laplacian and drift.
    pub(crate) terms: Option<(f64, f64)>,
    /// The standard errors of an estimated Laplacian, relative to the spread of residuals.
    pub(crate) estimate_error: Option<f64>,
    kept_components: Vec<f64>,
    kept_features: Vec<f64>,
    kept_classes: Vec<usize>,
    features: usize,
    classes: usize,
}

impl HeldOut {
    /// How many samples it saw.
    pub(crate) fn count(&self) -> usize {
        self.used + self.not_finite()
    }

    /// Samples without residuals.
    pub(crate) fn not_finite(&self) -> usize {
        self.bad_inputs + self.bad_residuals
    }

    /// What is taken off residuals.
    pub(crate) fn baseline(&self) -> Baseline {
        Baseline {
            components: self.components.means.clone(),
            single: self.single.means[0],
            map: self.map.as_ref().map(|m| m.means.clone()),
        }
    }

    /// What the aggregate learns; whether small residuals are `rounded` depends on how they are computed.
    pub(crate) fn learn(
        &self,
        aggregate: Aggregate,
        tail: Tail,
        rounded: bool,
    ) -> Result<Learnt, Error> {
        let rule = match aggregate {
            Aggregate::Profile { .. } => {
                let rows = self.kept_classes.len();
                let raw = Array2::from_shape_vec((rows, self.features), self.kept_features.clone())
                    .map_err(|e| request(e.to_string()))?;
                Some(Rule::fit(&raw.view(), &self.kept_classes, self.classes, rounded)?)
            }
            _ => None,
        };
        let centre = match (aggregate, tail) {
            (Aggregate::L2 | Aggregate::Max, Tail::TwoSided) => {
                let means = &self.components.means;
                let joined = |row: &[f64]| {
                    let off = row.iter().zip(means.iter()).map(|(r, m)| (r - m).abs());
                    match aggregate {
                        Aggregate::Max => off.fold(0.0, f64::max),
                        _ => off.map(|v| v * v).sum::<f64>().sqrt(),
                    }
                };
                let all: Vec<f64> =
                    self.kept_components.chunks_exact(means.len()).map(joined).collect();
                quantile::median(&all).unwrap_or(0.0)
            }
            _ => 0.0,
        };
        Ok(Learnt { centre, rule })
    }
}

/// Scores on different engines agree to this share of themselves. Calibration scores are taken as that much larger, so that
/// samples that are alike, as all are where a softmax is saturated, are alike for all engines.
const AGREE: f32 = 1e-4;

/// What the second pass finds.
pub(crate) struct Calibrated {
    /// In the order of samples, larger by [`AGREE`]; NaN where there is none.
    pub(crate) scores: Vec<f32>,
    /// Samples whose score is no number.
    pub(crate) not_finite: usize,
    /// Rows for the comparison with batches.
    pub(crate) reference: Array2<f32>,
    /// The largest size of an entry of each map, summed over channels.
    pub(crate) largest: Vec<f32>,
    sizes: Vec<f64>,
}

impl Calibrated {
    /// What colour scales end at: the 99.9 % quantile of the sizes of entries of maps.
    pub(crate) fn map_scale(&self) -> f64 {
        Quantile::Linear.of(&self.sizes, 0.999).unwrap_or(0.0)
    }
}

fn matrix(value: &Value) -> Result<Array2<f32>, Error> {
    let array = value.to_f32();
    let rows = array.shape().first().copied().unwrap_or(0);
    let width = array.len().checked_div(rows).unwrap_or(0);
    array.into_shape_with_order((rows, width)).map_err(|e| request(e.to_string()))
}

fn first_max(row: &ArrayView1<'_, f32>) -> usize {
    let pick = |best: usize, (i, v): (usize, &f32)| if *v > row[best] { i } else { best };
    row.iter().enumerate().fold(0, pick)
}

impl Fit<'_> {
    /// The first pass: mean residuals, and what the aggregate learns from.
    pub(super) fn adjust(
        &self,
        draft: &Draft,
        residual: &Residual,
        division: &Division<'_>,
    ) -> Result<HeldOut, Error> {
        let named: [(&str, Option<Id>); 7] = [
            ("components", Some(residual.components)),
            ("single", Some(residual.single)),
            ("map", residual.map),
            ("features", residual.features),
            ("probabilities", residual.probabilities),
            ("laplacian", residual.terms.map(|t| t.0)),
            ("drift", residual.terms.map(|t| t.1)),
        ];
        let mut outputs: Vec<(String, Id)> =
            named.iter().filter_map(|(n, id)| id.map(|id| ((*n).to_owned(), id))).collect();
        outputs.extend(residual.stderr.map(|id| ("stderr".to_owned(), id)));
        let runner = self.compile(draft, &outputs)?;
        let part = division.adjust_part();
        let total = part.count().unwrap_or(0);
        let width = |id: Id| draft.graph().fact(id).shape.get(1).map_or(1, |d| d.at(1));
        let components = width(residual.components);
        let mut moments = Moments::new(components);
        let mut single_moments = Moments::new(1);
        let mut map_moments = residual.map.map(|_| Moments::new(draft.dimension()));
        let nothing = || Spread { means: Vec::new(), errors: Vec::new(), deviations: Vec::new() };
        let mut found = HeldOut {
            used: 0,
            components: nothing(),
            single: nothing(),
            map: None,
            bad_inputs: 0,
            bad_residuals: 0,
            saturated: 0,
            has_probabilities: residual.probabilities.is_some(),
            ranges: vec![(f32::INFINITY, f32::NEG_INFINITY); draft.dimension()],
            terms: None,
            estimate_error: None,
            kept_components: Vec::new(),
            kept_features: Vec::new(),
            kept_classes: Vec::new(),
            features: residual.features.map_or(0, width),
            classes: residual.probabilities.map_or(0, width),
        };
        let (mut laplacian, mut drift, mut errors) = (0.0, 0.0, Vec::new());
        let mut done = 0;
        for chunk in part.chunks(self.chunk(draft, &outputs))? {
            let chunk = chunk?;
            let results = runner.run(&chunk.values)?;
            let get = |name: &str| -> Result<Option<Array2<f32>>, Error> {
                let place = outputs.iter().position(|(n, _)| n == name);
                place.map(|i| matrix(&results[i])).transpose()
            };
            let missing = || request("the residuals are missing");
            let residuals = get("components")?.ok_or_else(missing)?;
            let single = get("single")?.ok_or_else(missing)?;
            let (map, features) = (get("map")?, get("features")?);
            let probabilities = get("probabilities")?;
            let terms = get("laplacian")?.zip(get("drift")?);
            let stderr = get("stderr")?;
            for (i, sample) in chunk.values.axis_iter(Axis(0)).enumerate() {
                if !sample.iter().all(|v| v.is_finite()) {
                    found.bad_inputs += 1;
                    continue;
                }
                for (range, &v) in found.ranges.iter_mut().zip(sample.iter()) {
                    *range = (range.0.min(v), range.1.max(v));
                }
                let row = residuals.row(i);
                let own = features.as_ref().map(|f| f.row(i));
                let is_finite = row.iter().chain(own.iter().flatten()).all(|v| v.is_finite());
                if !is_finite {
                    found.bad_residuals += 1;
                    continue;
                }
                found.used += 1;
                moments.push_rows(&row.insert_axis(Axis(0)))?;
                single_moments.push(&[single[[i, 0]]])?;
                if let (Some(moments), Some(map)) = (&mut map_moments, &map) {
                    moments.push_rows(&map.row(i).insert_axis(Axis(0)))?;
                }
                if let Some((l, d)) = &terms {
                    let size =
                        |m: &Array2<f32>| m.row(i).iter().map(|v| f64::from(v.abs())).sum::<f64>();
                    laplacian += size(l);
                    drift += size(d);
                }
                if let Some(stderr) = &stderr {
                    errors.push(f64::from(stderr[[i, 0]]));
                }
                if let Some(p) = &probabilities {
                    let class = first_max(&p.row(i));
                    found.saturated += usize::from(p[[i, class]] >= 1.0 - SATURATED);
                    if let Some(own) = own {
                        found.kept_classes.push(class);
                        found.kept_features.extend(own.iter().map(|&v| f64::from(v)));
                    }
                }
                if found.kept_components.len() < KEPT {
                    found.kept_components.extend(row.iter().map(|&v| f64::from(v)));
                }
            }
            done += chunk.len();
            (self.progress)(Stage::Adjust, done, total);
        }
        let few = || {
            request(format!(
                "of the {done} samples held out for the baseline, {} have finite residuals, and two are the least: {} \
                 have NaN or infinite entries, and for {} the model or the score is not finite",
                found.used, found.bad_inputs, found.bad_residuals
            ))
        };
        let spread = |m: &Moments| Spread::of(m).ok_or_else(few);
        let (all, one) = (spread(&moments)?, spread(&single_moments)?);
        let maps = map_moments.as_ref().map(spread).transpose()?;
        let count = (found.used * components) as f64;
        found.terms = residual.terms.map(|_| (laplacian / count, drift / count));
        found.estimate_error =
            quantile::median(&errors).map(|e| e / one.deviations[0].max(f64::MIN_POSITIVE));
        (found.components, found.single, found.map) = (all, one, maps);
        Ok(found)
    }

    /// The second pass: scores of samples that nothing was learnt from.
    pub(super) fn calibrate(
        &self,
        draft: &Draft,
        outputs: &[(String, Id)],
        division: &Division<'_>,
    ) -> Result<Calibrated, Error> {
        let runner = self.compile(draft, outputs)?;
        let part = division.calibrate_part();
        let total = part.count().unwrap_or(0);
        let mut found = Calibrated {
            scores: Vec::new(),
            not_finite: 0,
            reference: Array2::zeros((0, 0)),
            largest: Vec::new(),
            sizes: Vec::new(),
        };
        let (mut rows, mut width) = (Vec::new(), 0);
        for chunk in part.chunks(self.chunk(draft, outputs))? {
            let results = runner.run(&chunk?.values)?;
            let residual = matrix(&results[0])?;
            let score = matrix(&results[1])?;
            let components = matrix(&results[2])?;
            let map = results.get(3).map(|v| over_channels(&v.to_f32()));
            width = components.ncols() + 2;
            for i in 0..score.nrows() {
                let s = score[[i, 0]];
                found.scores.push(if s.is_finite() { s + AGREE * s.abs() } else { f32::NAN });
                if !s.is_finite() {
                    found.not_finite += 1;
                    found.largest.extend(map.as_ref().map(|_| f32::MAX));
                    continue;
                }
                if rows.len() + width <= KEPT {
                    rows.extend(components.row(i));
                    rows.extend([residual[[i, 0]], s]);
                }
                if let Some(map) = &map {
                    let sizes = map.index_axis(Axis(0), i).mapv(f32::abs);
                    found.largest.push(sizes.iter().copied().fold(0.0, f32::max));
                    if found.sizes.len() < KEPT {
                        found.sizes.extend(sizes.iter().map(|&v| f64::from(v)));
                    }
                }
            }
            (self.progress)(Stage::Calibrate, found.scores.len(), total);
        }
        let count = rows.len().checked_div(width).unwrap_or(0);
        found.reference =
            Array2::from_shape_vec((count, width), rows).map_err(|e| request(e.to_string()))?;
        Ok(found)
    }

    /// The exact Laplacian against an unbiased estimate of it: the median of |difference| in standard errors of the
    /// estimate, on a few samples; nothing where there is no exact one.
    pub(super) fn check_laplacian(
        &self,
        plan: &Plan,
        residual: &Residual,
        asked: &Request,
        division: &Division<'_>,
    ) -> Result<Option<f64>, Error> {
        let exact = residual.method.as_ref().is_some_and(|(m, _)| !m.is_stochastic());
        if !exact || residual.is_flat {
            return Ok(None);
        }
        let target = match plan.subject {
            Subject::Single(target) => target,
            Subject::EveryClass { .. } => Target::Prob(None),
        };
        let samples = taste_data::draw(&division.adjust_part(), COMPARED, self.request.seed)?;
        if samples.shape()[0] == 0 {
            return Ok(None);
        }
        let samples = Value::from(samples);
        let laplacian = |method: Method, stderr: bool| -> Result<(Vec<f32>, Vec<f32>), Error> {
            let wants = Wants { laplacian: true, stderr, ..Wants::default() };
            let asked = Request { target: Some(target), method, wants, ..asked.clone() };
            let derived = self.model.derive(&asked)?;
            let compiled = derived.compile(&self.backend, self.threads)?;
            let input = derived.wrt().to_owned();
            let outputs = compiled.run(&[(&input, &samples)], 0)?;
            let numbers =
                |v: Option<Value>| v.map(|v| v.to_f32().into_iter().collect()).unwrap_or_default();
            Ok((numbers(outputs.laplacian), numbers(outputs.stderr)))
        };
        let (exact, _) = laplacian(asked.method, false)?;
        let (estimate, errors) = laplacian(Method::Hutchinson(16), true)?;
        let apart: Vec<f64> = exact
            .iter()
            .zip(&estimate)
            .zip(&errors)
            .filter(|(_, e)| **e > 0.0)
            .map(|((a, b), e)| f64::from((a - b).abs() / e))
            .filter(|z| z.is_finite())
            .collect();
        Ok(quantile::median(&apart))
    }
}
