//! TASTE: the residual of a model along a score model, as a method.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Baseline, Described as Rows, Family, Job, Map, Method, Named, Needs, Part, Role, Split,
    Statistic, Step,
    passes::{self, Gather, Gathered, Watch},
};
use taste_graph::{Dim, Fact, Graph, Id};
use taste_stats::quantile::median;

use crate::{
    At, Centre, Error, Precondition, Settings, Tail,
    aggregates::{self, Aggregate},
    fields::{Families, Field, Learner, Learning},
    health,
    laplacian_check::{self, COMPARED},
    operators,
    plan::Plan,
    refused,
    residual::{self, Adjusted, Residual},
};

/// Numbers that are kept of held-out samples, for medians.
const KEPT: usize = 400_000;
/// The score, entry by entry.
const FIELD: &str = "score";
/// Rows that are kept for medians alone.
const SINGLE_ROWS: &str = "single rows";
const MAP_ROWS: &str = "map rows";

/// The entry of the table of methods.
#[derive(Clone, Debug, Default)]
pub struct Stein {
    families: Families,
}

impl Stein {
    /// With these score models to choose from.
    pub fn new(families: Families) -> Self {
        Self { families }
    }
}

const CHOICE: Choice = Choice {
    name: "stein",
    usage: "stein",
    about: "TASTE: the residual of the model along a score model, less its mean",
};

impl Entry for Stein {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Stein {
    fn about(&self) -> About {
        About {
            paper: "Kozyra and Reinert 2026",
            fit: "those of the score model, and a pass over held-out samples",
            score: "by target and Laplacian method",
        }
    }

    fn options(&self) -> &'static [&'static str] {
        &[
            "score-model",
            "score-input",
            "target",
            "operator",
            "aggregate",
            "baseline",
            "precondition",
            "tail",
            "laplacian-method",
            "at",
        ]
    }

    fn read(&self, _: &mut Arguments<'_>, named: &Named) -> Result<Arc<dyn Method>, Error> {
        let field = named.get("score-model").unwrap_or("gaussian");
        let mut settings = Settings::with(self.families.parse(field)?, field);
        if let Some(text) = named.get("score-input") {
            settings.coordinates = text.parse()?;
        }
        settings.target = named.get("target").map(str::parse).transpose()?;
        if let Some(text) = named.get("operator") {
            settings.operator = operators::parse(text)?;
        }
        settings.aggregate = named.get("aggregate").map(aggregates::parse).transpose()?;
        if let Some(text) = named.get("baseline") {
            settings.baseline = text.parse()?;
        }
        settings.precondition = named.get("precondition").map(str::parse).transpose()?;
        settings.tail = named.get("tail").map(str::parse).transpose()?;
        if let Some(text) = named.get("laplacian-method") {
            settings.laplacian = text.parse()?;
        }
        settings.at = named.get("at").map(At::of).unwrap_or_default();
        Ok(Arc::new(SteinMethod { settings, options: named.clone() }))
    }
}

/// TASTE with every choice made.
#[derive(Clone, Debug)]
pub struct SteinMethod {
    settings: Settings,
    /// What it was read from, if it was read.
    options: Named,
}

impl SteinMethod {
    /// With these choices.
    pub fn new(settings: Settings) -> Self {
        Self { settings, options: Named::new() }
    }
}

impl Method for SteinMethod {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn options(&self) -> Named {
        self.options.clone()
    }

    fn needs(&self) -> Needs {
        Needs {
            learns: self.settings.field.learns(),
            tails: true,
            keeps: self.settings.field.keeps(),
            ..Needs::default()
        }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let settings = self.settings.clone();
        job.asked.laplacian_method = settings.laplacian;
        job.draft.set_laplacian_method(settings.laplacian);
        let (data, at) = settings.at.cut(job)?;
        if settings.operator.uses_model()
            && let Some(obstacle) = job.draft.obstacle()?
        {
            return Err(refused(format!(
                "{obstacle}, and residuals at {} have nothing to look at: choose a tensor behind it, or the method taste",
                at.as_deref().map_or_else(|| "the input".to_owned(), |name| format!("{name:?}"))
            )));
        }
        let plan = Plan::new(&settings, &job.draft)?;
        let field = settings.coordinates.apply(Arc::clone(&settings.field), &data)?;
        let precondition = Precondition::resolve(settings.precondition, &data)?;
        let learning = field.begin(&learner(job, &data))?;
        if at.is_some() && matches!(learning, Learning::Samples(_)) {
            return Err(refused(format!(
                "the score model {} goes through the samples itself, and can't be fitted to features: use gaussian, gmm \
                 or kde, or stay at the input",
                settings.field_written
            )));
        }
        learn(Fit { settings, plan, precondition, is_weighed: false, data, at }, job, learning)
    }
}

/// What a fit knows from the start.
#[derive(Clone, Debug)]
struct Fit {
    settings: Settings,
    plan: Plan,
    precondition: Precondition,
    /// Whether the metric is known.
    is_weighed: bool,
    /// What residuals are functions of: the samples, or features of them.
    data: Rows,
    /// The tensor, if it is not the samples.
    at: Option<String>,
}

impl Fit {
    /// Asks for what the metric is learnt from, if that is still to do: the name that it is under.
    fn watch(&self, watches: &mut Vec<Watch>) -> Option<String> {
        if self.is_weighed { None } else { self.precondition.watch(watches) }
    }

    /// Learns the metric from what is under a name.
    fn weigh(&mut self, job: &mut Job<'_>, seen: &Gathered, name: &str) -> Result<(), Error> {
        let metric = self.precondition.learn(seen, name, &self.data)?;
        job.asked.metric = metric.clone();
        job.draft.set_metric(metric)?;
        self.is_weighed = true;
        Ok(())
    }
}

fn learner<'a>(job: &'a Job<'_>, data: &'a Rows) -> Learner<'a> {
    Learner { data, seed: job.settings.seed, engine: job.engine, progress: job.progress }
}

/// Goes on until the score model and the metric are fitted, in the same pass if there is one.
fn learn(mut fit: Fit, job: &mut Job<'_>, learning: Learning) -> Result<Step, Error> {
    let purpose = "samples for the score model";
    Ok(match learning {
        Learning::Done(field) => {
            let mut watches = Vec::new();
            let Some(name) = fit.watch(&mut watches) else { return tails(fit, job, &*field) };
            // Without a score model to fit, there may be no samples to fit to.
            Step::pass("samples for the metric", Split::Tails, watches, move |job, seen| {
                fit.weigh(job, seen, &name)?;
                tails(fit, job, &*field)
            })
        }
        Learning::Pass(mut watches, then) => {
            let name = fit.watch(&mut watches);
            Step::pass(purpose, Split::Fit, watches, move |job, seen| {
                if let Some(name) = name {
                    fit.weigh(job, seen, &name)?;
                }
                let learning = then(seen)?;
                learn(fit, job, learning)
            })
        }
        Learning::Samples(then) => Step::Samples {
            purpose: purpose.to_owned(),
            split: Split::Fit,
            then: Box::new(move |job, samples| {
                let mut watches = Vec::new();
                if let Some(name) = fit.watch(&mut watches) {
                    let seen = passes::gather_inputs(samples, &watches, job.progress)?;
                    fit.weigh(job, &seen, &name)?;
                }
                let field = then(&learner(job, &fit.data), samples)?;
                tails(fit, job, &*field)
            }),
        },
    })
}

/// Adds the residuals, and gathers their means.
fn tails(fit: Fit, job: &mut Job<'_>, field: &dyn Field) -> Result<Step, Error> {
    let Fit { settings, plan, .. } = &fit;
    // A map of features is no map of the sample.
    let map = job.wants_map() && fit.at.is_none();
    let jacobian = plan.aggregate.wants_jacobian();
    let operator = &*settings.operator;
    let residual = residual::build(&mut job.draft, field, operator, plan.subject, jacobian, map)?;
    let seed = job.settings.seed;
    let mut b = job.draft.build();
    let columns = b.fact(residual.components).shape[1].at(1);
    let mut watches = vec![
        Watch::value("components", residual.components, Gather::Moments),
        Watch::value("single", residual.single, Gather::Moments),
        Watch::value("rows", residual.components, Gather::rows(KEPT, columns, seed)),
        Watch::input("ranges", Gather::Range),
        Watch::input("compared", Gather::Rows { most: COMPARED, seed, whole: false }),
    ];
    watches.extend(residual.map.map(|id| Watch::value("map", id, Gather::Moments)));
    if settings.operator.is_stein() {
        watches.push(Watch::value(FIELD, residual.terms.field, Gather::Moments));
    }
    if settings.baseline == Centre::Median {
        watches.push(Watch::value(SINGLE_ROWS, residual.single, Gather::rows(KEPT, 1, seed)));
        let entries = fit.data.dimension();
        let rows = |id| Watch::value(MAP_ROWS, id, Gather::rows(KEPT, entries, seed));
        watches.extend(residual.map.map(rows));
    }
    watches
        .extend(residual.stderr.map(|id| Watch::value("stderr", id, Gather::rows(KEPT, 1, seed))));
    if let (Some(p), Some(predicted)) = (residual.probabilities, residual.predicted) {
        let picked = b.mul(p, predicted)?;
        let largest = b.sum(picked, &[1])?;
        watches.push(Watch::value("confidence", largest, Gather::rows(KEPT, 1, seed)));
    }
    watches.extend(plan.aggregate.begin(&mut b, &residual)?);
    let described = Described { facts: field.describe(), rows: field.rows() };
    Ok(Step::pass("samples for the baseline", Split::Tails, watches, move |job, seen| {
        finish(&fit, job, &residual, described, seen)
    }))
}

/// What the score model says of itself.
struct Described {
    facts: serde_json::Value,
    rows: Option<taste_detector::KeptRows>,
}

/// The score, once mean residuals are known.
fn finish(
    fit: &Fit,
    job: &mut Job<'_>,
    residual: &Residual,
    field: Described,
    seen: &Gathered,
) -> Result<Step, Error> {
    let Fit { settings, plan, .. } = fit;
    if seen.used() < 2 {
        return Err(too_few(seen));
    }
    let baseline = |name: &str| Baseline::of(seen.moments(name)?).ok_or_else(|| too_few(seen));
    let (components, single) = (baseline("components")?, baseline("single")?);
    let map = if residual.map.is_some() { Some(baseline("map")?) } else { None };
    let score = if settings.operator.is_stein() { Some(baseline(FIELD)?) } else { None };
    let findings = health::findings(&health::Evidence {
        components: &components,
        map: map.as_ref(),
        is_stein: settings.operator.is_stein(),
        columns: fit.data.columns.as_deref(),
        precondition: fit.precondition,
        score: score.as_ref(),
        at: fit.at.as_deref(),
        centre: settings.baseline,
        ranges: seen.range("ranges")?,
        confidence: match residual.probabilities {
            Some(_) => Some(seen.rows("confidence")?.values.iter().copied().collect()),
            None => None,
        },
        // The check derives the model by its inputs.
        laplacian: if job.draft.is_fed() && job.draft.parts().is_empty() {
            let compared = &seen.rows("compared")?.values;
            laplacian_check::distance(job, plan.subject, residual, settings.laplacian, compared)?
        } else {
            None
        },
        estimate_error: match residual.stderr {
            Some(_) => relative_error(seen, single.deviations[0])?,
            None => None,
        },
        is_flat: residual.is_flat && residual.method.is_some(),
        has_kinks: residual.has_kinks,
    });
    let mut b = job.draft.build();
    let rule = settings.baseline;
    let rows = |name: &str| match rule {
        Centre::Median => Some(seen.rows(name)).transpose(),
        _ => Ok(None),
    };
    let centre = |of: &Baseline, name: &str| -> Result<Vec<f64>, Error> {
        Ok(rule.of(of, rows(name)?.map(|r| r.values.view())))
    };
    let centres = centre(&components, "rows")?;
    let of_map = map.as_ref().map(|map| centre(map, MAP_ROWS)).transpose()?;
    let of_single = centre(&single, SINGLE_ROWS)?;
    let adjusted = residual::adjust(&mut b, residual, &centres, &of_single, of_map.as_deref())?;
    let joined = plan.aggregate.join(&mut b, residual, &adjusted, seen)?;
    let centre =
        if plan.tail == Tail::TwoSided { middle(&*plan.aggregate, &centres, seen)? } else { 0.0 };
    let score = plan.tail.score(&mut b, joined, centre)?;
    let mut statistic = Statistic::new(score);
    statistic.parts = parts(&adjusted, components, single);
    statistic.map = adjusted.map.zip(map).map(|(id, baseline)| Map {
        id,
        // The baseline is taken off.
        means: Vec::new(),
        #[expect(clippy::cast_possible_truncation, reason = "files are single precision")]
        deviations: baseline.deviations.iter().map(|&d| d as f32).collect(),
        one_sided: false,
    });
    statistic.facts = facts(fit, job, residual, &field.facts);
    statistic.findings = findings;
    statistic.rows.extend(field.rows);
    Ok(statistic.into())
}

/// Why there is no baseline.
fn too_few(seen: &Gathered) -> Error {
    refused(format!(
        "of the {} samples held out for the baseline, {} have finite residuals, and two are the least: {} have NaN or \
         infinite entries, and for {} the model or the score is not finite",
        seen.taken(),
        seen.used(),
        seen.bad_inputs(),
        seen.bad_values()
    ))
}

/// The residual of the predicted class or the only function, and those of all classes where there are several.
fn parts(adjusted: &Adjusted, components: Baseline, single: Baseline) -> Vec<Part> {
    let classes = components.means.len();
    let mut parts = vec![Part {
        name: "residual".to_owned(),
        id: adjusted.single,
        role: Role::Residual,
        columns: vec!["residual".to_owned()],
        baseline: Some(single),
    }];
    if classes > 1 {
        parts.push(Part {
            name: "residuals".to_owned(),
            id: adjusted.components,
            role: Role::Residual,
            columns: (0..classes).map(|k| format!("residual of class {k}")).collect(),
            baseline: Some(components),
        });
    }
    parts
}

fn facts(
    fit: &Fit,
    job: &Job<'_>,
    residual: &Residual,
    field: &serde_json::Value,
) -> serde_json::Value {
    let Fit { settings, plan, precondition, .. } = fit;
    let taken = match settings.target {
        None if settings.operator.uses_model() => job.draft.taken_for(),
        _ => String::new(),
    };
    json!({
        "target": plan.target,
        "operator": settings.operator.written(),
        "aggregate": plan.aggregate.written(),
        "baseline": settings.baseline.to_string(),
        "precondition": precondition.to_string(),
        "tail": plan.tail.to_string(),
        "laplacian": residual.method.as_ref().map(|(name, reason)| json!({
            "method": name,
            "reason": reason,
            "flat": residual.is_flat,
        })),
        "score_model": field,
        "at": fit.at,
        "taken_for": taken,
    })
}

/// The median standard error of an estimated Laplacian, in standard deviations of the residual.
fn relative_error(seen: &Gathered, deviation: f64) -> Result<Option<f64>, Error> {
    let errors: Vec<f64> = seen.rows("stderr")?.values.iter().map(|&v| f64::from(v)).collect();
    Ok(median(&errors).map(|e| e / deviation.max(f64::MIN_POSITIVE)))
}

/// The middle of what an aggregate makes of held-out residuals; 0 for what has a sign, whose middle was taken off.
fn middle(aggregate: &dyn Aggregate, centres: &[f64], seen: &Gathered) -> Result<f64, Error> {
    let rows = &seen.rows("rows")?.values;
    let mut graph = Graph::new();
    let shape = vec![Dim::BATCH, Dim::from(rows.ncols())];
    let input = graph.input("components", Fact::float(shape));
    let mut b = taste_graph::Build::new(&mut graph);
    let Some(joined) = aggregate.formula(&mut b, input)? else { return Ok(0.0) };
    let less = rows.iter().zip(centres.iter().cycle());
    let less: Vec<f64> = less.map(|(r, m)| f64::from(*r) - m).collect();
    let feeds: std::collections::HashMap<Id, _> =
        [(input, taste_graph::Tensor::floats(rows.shape(), less)?)].into();
    let values = graph.eval(&[joined], &feeds, rows.nrows())?;
    let taste_graph::Tensor::Float(values) = &values[0] else { return Ok(0.0) };
    Ok(median(&values.iter().copied().collect::<Vec<_>>()).unwrap_or(0.0))
}
