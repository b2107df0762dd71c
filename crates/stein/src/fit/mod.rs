//! From a model, a score and data to a detector.

mod divide;
pub(crate) mod passes;
mod taken;
mod watch;

use std::collections::HashMap;

use taste_data::Samples;
use taste_engine::{Backend, Batch, Draft, Method, Model, Request, Target};
use taste_graph::Id;

use crate::{
    Aggregate, Detector, Error, Operator, Tail,
    decision::{self, Lookup},
    detector::{MapReference, Pieces, Reference},
    error::request,
    health,
    manifest::{BaselineFacts, DataFacts, Decision, Manifest, MapFacts, MethodFacts, ModelFacts},
    residual::{self, Residual, Subject},
    runner::Runner,
    score::{ScoreModel, Specification},
    stats::conformal::{Calibration, Rule},
};
use divide::Division;
use passes::{Calibrated, HeldOut};
pub use taken::taken_for;

/// Above this many classes, one residual a sample takes the place of one a class.
const MANY_CLASSES: usize = 128;
/// Samples with at most this many entries get maps unasked: they are tables, and a map ranks their columns.
const SMALL: usize = 256;

/// A part of the work that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The score model is fitted.
    Score,
    /// Mean residuals on held-out samples.
    Adjust,
    /// Scores of other held-out samples.
    Calibrate,
}

/// Is told how many samples of a stage are done, of how many.
pub type Progress<'a> = dyn Fn(Stage, usize, usize) + Sync + 'a;

/// A detector to be.
///
/// ```no_run
/// use taste_data::{Dataset, Options};
/// use taste_engine::Model;
/// use taste_stein::{Fit, score};
///
/// let model = Model::open("classifier.onnx".as_ref())?;
/// let train = Dataset::open("train.npy".as_ref(), &Options::default())?;
/// let detector = Fit::new(&model, score::parse("gaussian")?).alpha(0.01).run(&train, None)?;
/// detector.save("detector.onnx".as_ref())?;
/// # Ok::<(), taste_stein::Error>(())
/// ```
pub struct Fit<'a> {
    model: &'a Model,
    score: Box<dyn Specification>,
    request: Request,
    operator: Operator,
    aggregate: Option<Aggregate>,
    tail: Option<Tail>,
    alpha: f64,
    rule: Rule,
    map: Option<bool>,
    held_out: usize,
    batch: Option<usize>,
    reading: serde_json::Value,
    backend: Backend,
    threads: usize,
    progress: &'a Progress<'a>,
}

impl<'a> Fit<'a> {
    /// A detector with the defaults of the command line.
    pub fn new(model: &'a Model, score: Box<dyn Specification>) -> Self {
        Self {
            model,
            score,
            request: Request::default(),
            operator: Operator::Langevin,
            aggregate: None,
            tail: None,
            alpha: 0.05,
            rule: Rule::Conformal,
            map: None,
            held_out: 10_000,
            batch: None,
            reading: serde_json::Value::Null,
            backend: Backend::default(),
            threads: taste_threads::count(None),
            progress: &|_, _, _| {},
        }
    }

    /// The function of the model; by default the probability of every class, or the only output.
    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.request.target = Some(target);
        self
    }

    /// The output that targets are functions of; by default the first that holds floats.
    #[must_use]
    pub fn output(mut self, name: &str) -> Self {
        self.request.output = Some(name.to_owned());
        self
    }

    /// The input that samples go to; by default the first that holds floats.
    #[must_use]
    pub fn input(mut self, name: &str) -> Self {
        self.request.wrt = Some(name.to_owned());
        self
    }

    /// What is made of model and score; by default Δf + s·∇f.
    #[must_use]
    pub fn operator(mut self, operator: Operator) -> Self {
        self.operator = operator;
        self
    }

    /// How the residuals of several classes become one score; by default their length.
    #[must_use]
    pub fn aggregate(mut self, aggregate: Aggregate) -> Self {
        self.aggregate = Some(aggregate);
        self
    }

    /// Which scores are far out; by default both tails of a signed residual, large values of a length.
    #[must_use]
    pub fn tail(mut self, tail: Tail) -> Self {
        self.tail = Some(tail);
        self
    }

    /// The share of false alarms.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// How the threshold follows from the calibration scores.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// How second derivatives are computed.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.request.method = method;
        self
    }

    /// Whether the detector computes maps; by default it does for samples with few entries.
    #[must_use]
    pub fn map(mut self, map: bool) -> Self {
        self.map = Some(map);
        self
    }

    /// How many samples are held out at most, for the baseline and the calibration together.
    #[must_use]
    pub fn held_out(mut self, samples: usize) -> Self {
        self.held_out = samples;
        self
    }

    /// The seed of every draw.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.request.seed = seed;
        self
    }

    /// How much memory intermediate values may take, in bytes.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.request.memory = bytes;
        self
    }

    /// How many samples go through the engine at once; by default as many as memory allows.
    #[must_use]
    pub fn batch(mut self, samples: usize) -> Self {
        self.batch = Some(samples.max(1));
        self
    }

    /// How files become samples, to be kept in the manifest and repeated when samples are scored.
    #[must_use]
    pub fn reading(mut self, options: serde_json::Value) -> Self {
        self.reading = options;
        self
    }

    /// The engine, and how many threads it uses.
    #[must_use]
    pub fn backend(mut self, backend: Backend, threads: usize) -> Self {
        self.backend = backend;
        self.threads = threads;
        self
    }

    /// Who is told how far the work is.
    #[must_use]
    pub fn progress(mut self, progress: &'a Progress<'a>) -> Self {
        self.progress = progress;
        self
    }

    /// Fits the detector. Without calibration data, a part of the training data is held out.
    pub fn run(
        &self,
        train: &dyn Samples,
        calibration: Option<&dyn Samples>,
    ) -> Result<Detector, Error> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(request(format!(
                "alpha is a share of false alarms between 0 and 1, not {}",
                self.alpha
            )));
        }
        let mut asked = self.request.clone();
        self.fix_sample_shape(&mut asked, train);
        let mut draft = self.model.draft(&asked)?;
        check_shape(&draft, train)?;
        if let Some(calibration) = calibration {
            check_shape(&draft, calibration)?;
        }
        let plan = self.plan(&draft)?;
        let division = Division::new(
            train,
            calibration,
            self.score.learns(),
            self.held_out,
            self.alpha,
            self.request.seed,
        )?;
        (self.progress)(Stage::Score, 0, division.fitted);
        let part = division.fit(train);
        let (score, left_out) = watch::fit(&*self.score, &part, self.request.seed)?;
        (self.progress)(Stage::Score, division.fitted, division.fitted);
        let residual =
            residual::build(&mut draft, &*score, &self.operator, plan.subject, plan.map)?;
        let held_out = self.adjust(&draft, &residual, &division)?;
        let closed = residual.method.as_ref().is_some_and(|(m, _)| *m == Method::ClosedForm);
        let learnt = held_out.learn(plan.aggregate, plan.tail, !closed)?;
        let baseline = held_out.baseline();
        let mut b = draft.build();
        let adjusted = decision::adjust(&mut b, &residual, &baseline)?;
        let joined =
            decision::joined(&mut b, plan.aggregate, &residual, &adjusted, learnt.rule.as_ref())?;
        let score_id = decision::score(&mut b, joined, plan.tail, learnt.centre)?;
        let mut outputs = vec![
            ("residual".to_owned(), adjusted.single),
            ("score".to_owned(), score_id),
            ("residuals".to_owned(), adjusted.components),
        ];
        outputs.extend(adjusted.map.map(|id| ("map".to_owned(), id)));
        let calibrated = self.calibrate(&draft, &outputs, &division)?;
        let lookup = Lookup::new(&calibrated.scores);
        let mut b = draft.build();
        let p_value = lookup.p_value(&mut b, score_id)?;
        let flag = decision::flag(&mut b, score_id)?;
        if baseline.components.len() == 1 {
            outputs.retain(|(name, _)| name != "residuals");
        }
        outputs.insert(2, ("p_value".to_owned(), p_value));
        outputs.insert(3, ("flag".to_owned(), flag));
        let graph = draft.graph().to_onnx(&outputs)?;
        let mut manifest = self.manifest(&draft, &plan, &residual, &held_out, &*score)?;
        manifest.data = DataFacts {
            train: train.name().to_owned(),
            calibration: calibration.map(|c| c.name().to_owned()),
            reading: self.reading.clone(),
            columns: train.columns().map(<[String]>::to_vec),
            fitted: if self.score.learns() { division.fitted - left_out } else { 0 },
            left_out,
            adjusted: held_out.count(),
            calibrated: calibrated.scores.len(),
            not_finite: held_out.not_finite() + calibrated.not_finite,
        };
        manifest.model.chunk = self.chunk(&draft, &outputs);
        manifest.decision.threshold =
            Calibration::new(calibrated.scores.iter().map(|&s| f64::from(s)))
                .threshold(self.alpha, self.rule)?;
        let maps = Self::map_reference(&held_out, &calibrated);
        if let Some(maps) = &maps {
            let largest = Calibration::new(maps.largest.iter().map(|&s| f64::from(s)));
            manifest.map = Some(MapFacts {
                threshold: largest.threshold(self.alpha, self.rule)?,
                alpha: self.alpha,
                scale: calibrated.map_scale(),
            });
        }
        let laplacian = self.check_laplacian(&plan, &residual, &asked, &division)?;
        let calibration_given = calibration.is_some();
        manifest.health = health::findings(&health::Evidence {
            held_out: &held_out,
            calibrated: &calibrated,
            operator: &self.operator,
            columns: train.columns(),
            laplacian,
            flat: residual.is_flat && self.operator == Operator::Langevin,
            kinked: is_kinked(&plan, &residual),
            calibration_given,
            fitted: (manifest.data.fitted, left_out),
        });
        let reference = Reference { rows: calibrated.reference };
        Detector::assemble(Pieces { graph, manifest, lookup, reference, maps })
    }

    /// A model that leaves the sizes of a sample open takes them from the data.
    fn fix_sample_shape(&self, asked: &mut Request, train: &dyn Samples) {
        let ports = self.model.inputs();
        let input = match &asked.wrt {
            Some(name) => ports.iter().find(|p| p.name == *name),
            None => ports.iter().find(|p| p.is_float),
        };
        let is_open = |sizes: &[Result<usize, String>]| sizes.iter().skip(1).any(Result::is_err);
        if let Some(input) = input
            && input.shape.as_deref().is_none_or(is_open)
        {
            asked.sample_shapes =
                HashMap::from([(input.name.clone(), train.sample_shape().to_vec())]);
        }
    }

    /// The choices that depend on the model.
    fn plan(&self, draft: &Draft) -> Result<Plan, Error> {
        let classes = draft.width();
        let several = |what: &str| {
            if classes < 2 {
                Err(request(format!(
                    "{what} is for a classifier, and the output {:?} is one number",
                    draft.output_name()
                )))
            } else {
                Ok(())
            }
        };
        let default = if classes <= MANY_CLASSES { Aggregate::L2 } else { Aggregate::Predicted };
        let every = matches!(self.request.target, None | Some(Target::EveryProb));
        let (subject, aggregate) = match (self.request.target, self.aggregate) {
            (None, None) if !self.operator.uses_model() => {
                (Subject::Single(Target::Output(0)), Aggregate::Predicted)
            }
            (target, aggregate) if !self.operator.uses_model() => {
                let asked = match (target, aggregate) {
                    (Some(target), _) => format!("--target {target}"),
                    (None, Some(aggregate)) => format!("--aggregate {aggregate}"),
                    (None, None) => String::new(),
                };
                return Err(request(format!(
                    "the operator {} does not look at the model, so {asked} has nothing to do: leave it out",
                    self.operator
                )));
            }
            (None, None) if classes < 2 => {
                (Subject::Single(Target::Output(0)), Aggregate::Predicted)
            }
            (Some(target), None) if !every => (Subject::Single(target), Aggregate::Predicted),
            // Of the predicted class in any case.
            (
                Some(target @ (Target::Prob(None) | Target::Logit(None) | Target::LogProb(None))),
                Some(Aggregate::Predicted),
            ) => (Subject::Single(target), Aggregate::Predicted),
            (Some(target), Some(Aggregate::Predicted)) if !every => {
                return Err(request(format!(
                    "the target {target} is one function, and --aggregate predicted asks for that of the predicted \
                     class: leave one of the two out"
                )));
            }
            (Some(target), Some(aggregate)) if !every => {
                return Err(request(format!(
                    "the target {target} has one residual, and --aggregate {aggregate} joins those of all classes: \
                     leave one of the two out"
                )));
            }
            (_, aggregate) => {
                let aggregate = aggregate.unwrap_or(default);
                several(&format!("--aggregate {aggregate}"))?;
                let subject = match aggregate {
                    Aggregate::Predicted => Subject::Single(Target::Prob(None)),
                    Aggregate::Class(k) => Subject::Single(Target::Prob(Some(k))),
                    Aggregate::Profile { with_score } => {
                        Subject::EveryClass { profile: Some(with_score) }
                    }
                    Aggregate::L2 | Aggregate::Max => Subject::EveryClass { profile: None },
                };
                (subject, aggregate)
            }
        };
        let signed = matches!(aggregate, Aggregate::Predicted | Aggregate::Class(_))
            && self.operator != Operator::FirstOrderNorm;
        let tail = self.tail.unwrap_or(if signed { Tail::TwoSided } else { Tail::Upper });
        if tail == Tail::TwoSided && matches!(aggregate, Aggregate::Profile { .. }) {
            return Err(request(
                "the profile has one tail: its distance is small for what is near the training data",
            ));
        }
        let map = self.map.unwrap_or(draft.dimension() <= SMALL);
        Ok(Plan { subject, aggregate, tail, map })
    }

    fn chunk(&self, draft: &Draft, outputs: &[(String, Id)]) -> usize {
        self.batch.unwrap_or_else(|| draft.chunk(outputs))
    }

    fn compile(&self, draft: &Draft, outputs: &[(String, Id)]) -> Result<Runner, Error> {
        let session = self.backend.compile(draft.graph(), outputs, self.threads)?;
        Ok(Runner::new(session, draft.input_name(), draft.batch()))
    }

    fn manifest(
        &self,
        draft: &Draft,
        plan: &Plan,
        residual: &Residual,
        held_out: &HeldOut,
        score: &dyn ScoreModel,
    ) -> Result<Manifest, Error> {
        let sha256 = match self.model.onnx().sha256() {
            Some(digest) => digest,
            None => taste_onnx::sha256(
                &self.model.onnx().to_bytes().map_err(taste_engine::Error::from)?,
            ),
        };
        let target = match plan.subject {
            _ if !self.operator.uses_model() => "none".to_owned(),
            Subject::Single(target) => target.to_string(),
            Subject::EveryClass { .. } => Target::EveryProb.to_string(),
        };
        Ok(Manifest {
            taste: env!("CARGO_PKG_VERSION").to_owned(),
            model: ModelFacts {
                file: self.model.name().to_owned(),
                sha256,
                input: draft.input_name().to_owned(),
                output: draft.output_name().to_owned(),
                sample_shape: draft.sample_shape(),
                batch: match draft.batch() {
                    Batch::Open => None,
                    Batch::Fixed(rows) => Some(rows),
                },
                outputs: draft.width(),
                taken_for: match self.request.target {
                    None if self.operator.uses_model() => taken_for(draft),
                    _ => String::new(),
                },
                chunk: 0,
            },
            target,
            operator: self.operator.to_string(),
            aggregate: plan.aggregate.to_string(),
            tail: plan.tail.to_string(),
            method: residual.method.as_ref().map(|(method, reason)| MethodFacts {
                name: method.to_string(),
                reason: reason.clone(),
                flat: residual.is_flat,
            }),
            score: score.describe(),
            data: DataFacts::default(),
            baseline: BaselineFacts {
                means: held_out.components.means.clone(),
                standard_errors: held_out.components.errors.clone(),
                deviations: held_out.components.deviations.clone(),
                single: held_out.baseline().single,
            },
            decision: Decision {
                alpha: Some(self.alpha),
                rule: self.rule.to_string(),
                threshold: 0.0,
            },
            map: None,
            health: Vec::new(),
            seed: self.request.seed,
        })
    }

    fn map_reference(held_out: &HeldOut, calibrated: &Calibrated) -> Option<MapReference> {
        let spread = held_out.map.as_ref()?;
        let mut largest = calibrated.largest.clone();
        largest.sort_by(f32::total_cmp);
        #[expect(clippy::cast_possible_truncation, reason = "files are single precision")]
        let deviations = spread.deviations.iter().map(|&d| d as f32).collect();
        Some(MapReference { deviations, largest })
    }
}

/// The choices that depend on the model.
pub(crate) struct Plan {
    pub(crate) subject: Subject,
    pub(crate) aggregate: Aggregate,
    pub(crate) tail: Tail,
    pub(crate) map: bool,
}

/// Whether the functions have kinks: a piecewise affine body, or the choice of the likeliest class.
fn is_kinked(plan: &Plan, residual: &Residual) -> bool {
    let body = residual.method.as_ref().is_some_and(|(method, _)| {
        matches!(method, Method::ClosedForm | Method::ClosedFormTop(_) | Method::Probe(_))
    });
    let choice = matches!(
        plan.subject,
        Subject::Single(
            Target::Prob(None) | Target::Logit(None) | Target::LogProb(None) | Target::Margin
        )
    );
    body || choice
}

fn check_shape(draft: &Draft, samples: &dyn Samples) -> Result<(), Error> {
    let want = draft.sample_shape();
    if samples.sample_shape() == want {
        return Ok(());
    }
    Err(request(format!(
        "{}: its samples have shape {:?}, and the input {:?} of the model wants {want:?}",
        samples.name(),
        samples.sample_shape(),
        draft.input_name()
    )))
}
