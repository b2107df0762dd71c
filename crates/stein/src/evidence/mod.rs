//! The method `taste`: directed evidence. Components of a sample, each with the one direction that speaks of harm, become
//! evidence against held-out samples, and the evidence adds up.

mod answers;
mod columns;
mod components;
pub(crate) mod curve;
pub(crate) mod density;
mod kinds;
mod learn;
mod map;

use std::sync::Arc;

use ndarray::{Array2, Axis};
use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Baseline, Family, Job, Level, Map, Method, Named, Needs, Part, Role, Split, Statistic,
    Step, finding,
    passes::{Gather, Gathered, Watch},
};
use taste_graph::{Id, OpError};
use taste_ops::functions;
use taste_stats::{covariance::ledoit_wolf, linear::Cholesky, moments::Moments};

use crate::{Error, refused};
use components::Components;
use curve::{Curve, Direction, evidence};
use density::stored;
pub use kinds::{COMPONENTS, Component, Set};
use learn::{Input, Learnt, Subject};

/// The entry of the table of methods.
pub const FAMILY: &dyn Family = &Taste { set: Set::Task };

const CHOICE: Choice = Choice {
    name: "taste",
    usage: "taste[:set=task|full|task0|full0]",
    about: "directed evidence: what matters to the model (task) or any novelty (full), at two forward passes, or one \
            (task0, full0); the default",
};

/// Numbers that are kept of held-out samples.
const KEPT: usize = 4_000_000;
/// Fewer held-out samples than this make tails coarse.
const ENOUGH: usize = 500;
/// Classes up to which the residual of each is a part of its own.
const MOST_RESIDUALS: usize = 128;

const VALUES: &str = "components";
const DRIFTS: &str = "drifts";
const RESIDUALS: &str = "residuals";
const MAP: &str = "map";

/// Directed evidence.
#[derive(Clone, Copy, Debug)]
pub struct Taste {
    set: Set,
}

impl Entry for Taste {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Taste {
    fn about(&self) -> About {
        About {
            paper: "this project",
            fit: "1 and a pass over held-out samples",
            score: "2; 1 for task0 and full0",
        }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let set = match arguments.text("set") {
            None => self.set,
            Some(text) => match Set::ALL.iter().find(|s| s.0 == text) {
                Some(found) => found.1,
                None => {
                    return Err(arguments.unfit("set", "task, full, task0 or full0", text).into());
                }
            },
        };
        Ok(Arc::new(Self { set }))
    }
}

impl Method for Taste {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        format!("{}:set={}", CHOICE.name, self.set.name())
    }

    fn needs(&self) -> Needs {
        Needs { learns: true, tails: true, features: true, uses_labels: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let set = self.set;
        let mut subject = Subject::new(job)?;
        let watches = subject.watches(job)?;
        Ok(Step::pass("training samples", Split::Fit, watches, move |job, seen| {
            let learnt = subject.learn(seen)?;
            tails(job, subject, learnt, set)
        }))
    }
}

/// Adds the components, and gathers what they are on held-out samples.
fn tails(job: &mut Job<'_>, subject: Subject, learnt: Learnt, set: Set) -> Result<Step, Error> {
    let components = Components::build(job, &subject, &learnt, set)?;
    if components.values.is_empty() {
        return Err(refused(
            "the method taste finds nothing to look at: the model has no linear layer, its answer is no class, and its \
             samples are neither tables nor images",
        ));
    }
    let seed = job.settings.seed;
    let mut b = job.draft.build();
    let columns: Vec<Id> = components.values.iter().map(|c| c.1).collect();
    let all = functions::concat(&mut b, &columns, 1)?;
    let rows =
        |b: &taste_graph::Build<'_>, id: Id| Gather::rows(KEPT, b.fact(id).shape[1].at(1), seed);
    let mut watches = vec![Watch::value(VALUES, all, rows(&b, all))];
    watches.extend(components.drifts.map(|id| Watch::value(DRIFTS, id, rows(&b, id))));
    let few = |id: &Id| b.fact(*id).shape[1].at(1) <= MOST_RESIDUALS;
    let residuals = components.residuals.filter(few);
    watches.extend(residuals.map(|id| Watch::value(RESIDUALS, id, Gather::Moments)));
    Ok(Step::pass("samples for the tails", Split::Tails, watches, move |job, seen| {
        finish(job, &Fitted { subject, learnt, components, all, set }, seen)
    }))
}

/// What is known once the components are part of the graph.
struct Fitted {
    subject: Subject,
    learnt: Learnt,
    components: Components,
    /// The components side by side: N × J.
    all: Id,
    set: Set,
}

/// The score, once tails are known.
fn finish(job: &mut Job<'_>, of: &Fitted, seen: &Gathered) -> Result<Step, Error> {
    let rows = seen.rows(VALUES)?.values.mapv(f64::from);
    if rows.nrows() < 2 {
        return Err(refused(format!(
            "of the {} samples held out for the tails, {} have finite components, and two are the least",
            seen.taken(),
            rows.nrows()
        )));
    }
    let is_table = matches!(of.learnt.input, Input::Table(_));
    let wanted = of.set.components(of.subject.has_hidden_layer);
    let terms = Terms::build(job, of, &rows, wanted)?;
    let novel = Terms::build(job, of, &rows, kinds::novelty(is_table))?;
    if terms.ids.is_empty() {
        return Err(refused(format!(
            "the set {} has no component that this model and these data have",
            of.set.name()
        )));
    }
    let (score, harm) = terms.sum(job)?;
    let mut statistic = Statistic::new(score);
    let names = |terms: &Terms| terms.components.iter().map(|c| c.name.to_owned()).collect();
    statistic.parts.push(part("evidence", harm, names(&terms), Role::Evidence, None));
    if !novel.ids.is_empty() {
        let (novelty, evidence) = novel.sum(job)?;
        statistic.novelty = Some(novelty);
        let role = Role::Novelty;
        statistic.parts.push(part("novelty_evidence", evidence, names(&novel), role, None));
    }
    let all = of.components.values.iter().map(|c| c.0.name.to_owned()).collect();
    statistic.parts.push(part("components", of.all, all, Role::Component, None));
    statistic.parts.extend(residuals(job, of, seen)?);
    statistic.parts.extend(drifts(job, of, seen)?);
    statistic.facts = facts(of, &terms, &novel);
    statistic.findings = findings(of, rows.nrows());
    with_map(job, of, statistic)
}

/// Adds a map where one is wanted, which takes another look at the samples for the tails.
fn with_map(job: &mut Job<'_>, of: &Fitted, mut statistic: Statistic) -> Result<Step, Error> {
    let Some(moved) = of.components.moved.filter(|_| job.wants_map()) else {
        return Ok(statistic.into());
    };
    let Some(id) = map::build(job, statistic.score, moved)? else { return Ok(statistic.into()) };
    let watches = vec![Watch::value(MAP, id, Gather::Moments)];
    Ok(Step::pass("samples for the maps", Split::Tails, watches, move |_, seen| {
        // No map where no sample has one, as its derivative is no number.
        let found = seen.moments(MAP)?;
        let (Some(means), Some(variances)) = (found.mean(), found.variance()) else {
            return Ok(statistic.into());
        };
        #[expect(clippy::cast_possible_truncation, reason = "files are single precision")]
        let single = |v: f64| v as f32;
        let means = means.iter().map(|v| single(*v)).collect();
        let deviations = variances.iter().map(|v| single(v.sqrt())).collect();
        statistic.map = Some(Map { id, means, deviations, one_sided: false });
        Ok(statistic.into())
    }))
}

/// Evidence of some components.
struct Terms {
    components: Vec<Component>,
    /// Each N × 1.
    ids: Vec<Id>,
    /// The 95 % point and the mean excess of each.
    tails: Vec<(f64, f64)>,
}

impl Terms {
    fn build(
        job: &mut Job<'_>,
        of: &Fitted,
        rows: &Array2<f64>,
        wanted: &[Component],
    ) -> Result<Self, Error> {
        let mut found = Self { components: vec![], ids: vec![], tails: vec![] };
        for &component in wanted {
            let place = of.components.values.iter().position(|c| c.0 == component);
            let Some(place) = place else { continue };
            let values = rows.column(place).to_vec();
            let upper = Curve::fit(&values);
            let lower = match component.direction() {
                Direction::Upper => None,
                Direction::TwoSided => {
                    Some(Curve::fit(&values.iter().map(|v| -v).collect::<Vec<_>>()))
                }
            };
            let value = of.components.values[place].1;
            let id = evidence(&mut job.draft.build(), value, &upper, lower.as_ref())?;
            found.components.push(component);
            found.ids.push(id);
            found.tails.push(upper.tail);
        }
        Ok(found)
    }

    /// The sum (N), and the terms side by side (N × J).
    fn sum(&self, job: &mut Job<'_>) -> Result<(Id, Id), OpError> {
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let all = functions::concat(&mut b, &self.ids, 1)?;
        let sum = b.sum(all, &[1])?;
        Ok((b.reshape(sum, &[rows])?, all))
    }
}

fn part(name: &str, id: Id, columns: Vec<String>, role: Role, baseline: Option<Baseline>) -> Part {
    Part { name: name.to_owned(), id, columns, role, baseline }
}

/// Residuals of the probability of every class at the last layer, less their means.
fn residuals(job: &mut Job<'_>, of: &Fitted, seen: &Gathered) -> Result<Option<Part>, Error> {
    let (Some(id), Ok(moments)) = (of.components.residuals, seen.moments(RESIDUALS)) else {
        return Ok(None);
    };
    let Some(baseline) = Baseline::of(moments) else { return Ok(None) };
    let mut b = job.draft.build();
    let means = Array2::from_shape_vec((1, baseline.means.len()), baseline.means.clone())
        .map_err(|e| refused(e.to_string()))?;
    let means = stored(&mut b, &means)?;
    let less = b.sub(id, means)?;
    let columns = (0..baseline.means.len()).map(|k| format!("residual of class {k}")).collect();
    Ok(Some(part("residuals", less, columns, Role::Residual, Some(baseline))))
}

/// Drifts in coordinates in which they have mean zero and covariance one on held-out samples. Left out where those are too
/// few to tell.
fn drifts(job: &mut Job<'_>, of: &Fitted, seen: &Gathered) -> Result<Option<Part>, Error> {
    let Some(id) = of.components.drifts else { return Ok(None) };
    let mut rows = seen.rows(DRIFTS)?.values.mapv(f64::from);
    let (count, width) = rows.dim();
    if width * 5 > count {
        return Ok(None);
    }
    let mut moments = Moments::new(width);
    for row in rows.outer_iter() {
        moments.push(&row.to_vec())?;
    }
    let Some(baseline) = Baseline::of(&moments) else { return Ok(None) };
    let mean = ndarray::Array1::from(baseline.means.clone());
    rows -= &mean;
    let scale = ndarray::Array1::from(baseline.deviations.clone()).mapv(|d| d.max(1e-12));
    let (covariance, _) = ledoit_wolf(&(&rows / &scale));
    let Some(factor) = Cholesky::new(&covariance) else { return Ok(None) };
    let mut whitening = factor.whitening();
    for (mut row, scale) in whitening.outer_iter_mut().zip(&scale) {
        row /= *scale;
    }
    let mut b = job.draft.build();
    let (mean, whitening) =
        (stored(&mut b, &mean.insert_axis(Axis(0)))?, stored(&mut b, &whitening)?);
    let centred = b.sub(id, mean)?;
    let white = functions::matmul(&mut b, centred, whitening)?;
    let columns = (0..width).map(|i| format!("drift {i}")).collect();
    Ok(Some(part("drift", white, columns, Role::Drift, Some(baseline))))
}

fn facts(of: &Fitted, terms: &Terms, novel: &Terms) -> serde_json::Value {
    let listed = |terms: &Terms| -> Vec<serde_json::Value> {
        let each = terms.components.iter().zip(&terms.tails);
        each.map(|(c, (q, m))| json!({ "name": c.name, "about": c.about, "q95": q, "excess": m }))
            .collect()
    };
    let (subject, learnt) = (&of.subject, &of.learnt);
    let input = match &learnt.input {
        Input::Table(_) => "gaussian of standardised columns",
        Input::Image(_) => "dct",
        Input::None => "none",
    };
    json!({
        "set": of.set.name(),
        "evidence": listed(terms),
        "novelty": listed(novel),
        "cuts": subject.cuts.iter().map(|c| json!({ "tensor": c.name, "width": c.width })).collect::<Vec<_>>(),
        "linear_head": subject.head.is_some(),
        "classes_by": match (subject.answer.has_classes(), learnt.by_labels) {
            (false, _) => "none",
            (true, true) => "labels",
            (true, false) => "the model's own answers",
        },
        "score_model": input,
    })
}

fn findings(of: &Fitted, tails: usize) -> Vec<taste_detector::Finding> {
    let mut found = Vec::new();
    if tails < ENOUGH {
        found.push(finding(
            "samples for the tails",
            Level::Note,
            tails as f64,
            format!(
                "The tails of the components come from {tails} held-out samples; with {ENOUGH} or more, samples far out \
                 are told apart better. P-values are exact with any number."
            ),
        ));
    }
    if of.subject.answer.has_classes() && !of.learnt.by_labels {
        found.push(finding(
            "labels",
            Level::Note,
            0.0,
            "The data have no labels, so classes are the model's own answers. Labels make the densities of features a \
             little better.",
        ));
    }
    found
}
