//! The score of a diffusion model at one noise level t.
//!
//! The network predicts the noise ε in `y_t` = √ᾱ·y + σ·ε, with σ² = 1 − ᾱ, so the noisy data have the score
//! `s_t`(`y_t`) = −ε(`y_t`, t)/σ.

use std::{fmt, path::Path, sync::Arc};

use serde_json::{Value, json};
use taste_choice::{Arguments, Choice};
use taste_detector::refused;
use taste_engine::{Further, Graft, Model};
use taste_graph::{Build, Dim, Id, Tensor};
use taste_stats::random::Random;

use super::{
    Card, Field, FieldFamily, FieldSpec, InputMap, KIND, Learner, Learning, Steps, network,
};
use crate::Error;

/// Noise predictors in a file.
pub const FAMILY: FieldFamily = FieldFamily {
    choice: Choice {
        name: "ddpm",
        usage: USAGE,
        about: "a diffusion model's noise predictor ε(y, t) at one noise level",
    },
    read,
};

const USAGE: &str = "ddpm:FILE,t=50[,schedule=linear|scaled-linear|cosine][,conversion=s1|s2:M|s3]\
                                [,steps=1000][,beta-start=1e-4][,beta-end=0.02]";
/// The keys of its arguments.
pub const KEYS: [&str; 6] = ["t", "schedule", "conversion", "steps", "beta-start", "beta-end"];
/// How many steps there are unless something else is known.
const STEPS: usize = 1000;
const MOST_STEPS: usize = 1_000_000;
const MOST_DRAWS: usize = 256;

/// How the variance β of a step grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schedule {
    /// β is linear.
    Linear,
    /// √β is linear.
    ScaledLinear,
    /// ᾱ is a squared cosine (Nichol and Dhariwal 2021).
    Cosine,
}

impl Schedule {
    fn named(name: &str) -> Result<Self, Error> {
        match name {
            "linear" => Ok(Self::Linear),
            "scaled-linear" => Ok(Self::ScaledLinear),
            "cosine" => Ok(Self::Cosine),
            other => Err(refused(format!(
                "no schedule {other:?}; there are linear, scaled-linear and cosine"
            ))),
        }
    }
}

/// From noisy data to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    /// √ᾱ·`s_t`(√ᾱ·y): the exact score of the data smoothed by noise of deviation σ/√ᾱ.
    MeanPoint,
    /// The mean of √ᾱ·`s_t`(√ᾱ·y + σ·ε) over some draws of ε.
    Draws(usize),
    /// `s_t`(y), without a change of coordinates: for comparison with results that were computed so.
    Unscaled,
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MeanPoint => f.write_str("s1"),
            Self::Draws(draws) => write!(f, "s2:{draws}"),
            Self::Unscaled => f.write_str("s3"),
        }
    }
}

/// Where the network is.
#[derive(Clone, Debug)]
enum Network {
    File(String),
    Open(Arc<Model>),
}

#[derive(Clone, Debug)]
struct Asked {
    network: Network,
    t: usize,
    /// By default as the file tells, else linear.
    schedule: Option<Schedule>,
    conversion: Conversion,
    /// By default as the file tells, else [`STEPS`].
    steps: Option<usize>,
    beta: (f64, f64),
}

/// The noise levels of a network.
#[derive(Clone, Copy, Debug)]
struct Levels {
    schedule: Schedule,
    steps: usize,
    beta: (f64, f64),
}

fn read(mut arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error> {
    let file = arguments.file(&KEYS)?;
    asked(Network::File(file), arguments)
}

/// A diffusion model's noise predictor that is in memory, with what stands behind the file in `ddpm:FILE,t=50,…`.
pub fn diffusion(model: Model, options: &str) -> Result<Arc<dyn FieldSpec>, Error> {
    let options = Some(options).filter(|o| !o.trim().is_empty());
    asked(Network::Open(Arc::new(model)), Arguments::new(KIND, USAGE, options))
}

fn asked(network: Network, mut arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error> {
    let steps = format!("a whole number from 1 to {MOST_STEPS}");
    let steps = arguments.number("steps", &steps, |s| (1..=MOST_STEPS).contains(s))?;
    let last = steps.unwrap_or(STEPS) - 1;
    let t = arguments
        .number("t", &format!("a step from 0 to {last}"), |t| *t <= last)?
        .ok_or_else(|| arguments.missing("the noise level t"))?;
    let schedule = arguments.text("schedule").map(Schedule::named).transpose()?;
    let conversion = conversion(&mut arguments)?;
    let (wanted, fits) = ("a number between 0 and 1", |v: &f64| *v > 0.0 && *v < 1.0);
    let start = arguments.number("beta-start", wanted, fits)?.unwrap_or(1e-4);
    let end = arguments.number("beta-end", wanted, fits)?.unwrap_or(0.02);
    arguments.finish()?;
    Ok(Arc::new(Asked { network, t, schedule, conversion, steps, beta: (start, end) }))
}

fn conversion(arguments: &mut Arguments<'_>) -> Result<Conversion, Error> {
    let text = arguments.text("conversion");
    Ok(match text.map(|t| t.split_once(':').unwrap_or((t, ""))) {
        None | Some(("s1", "")) => Conversion::MeanPoint,
        Some(("s3", "")) => Conversion::Unscaled,
        Some(("s2", draws)) => {
            let wanted = format!("a number of draws from 1 to {MOST_DRAWS}");
            let fits = |m: &usize| (1..=MOST_DRAWS).contains(m);
            Conversion::Draws(arguments.as_number("conversion s2:M", draws, &wanted, fits)?)
        }
        Some(_) => {
            return Err(refused(format!(
                "no conversion {:?}; there are s1, s2:M and s3",
                text.unwrap_or_default()
            )));
        }
    })
}

impl Asked {
    fn open(&self) -> Result<Arc<Model>, Error> {
        Ok(match &self.network {
            Network::File(file) => Arc::new(Model::open(Path::new(file))?),
            Network::Open(model) => Arc::clone(model),
        })
    }

    fn name(&self) -> &str {
        match &self.network {
            Network::File(file) => file,
            Network::Open(model) => model.name(),
        }
    }

    /// The noise levels: as asked for, else as the file tells.
    fn levels(&self, told: Option<&Steps>) -> Result<Levels, Error> {
        let schedule = match (self.schedule, told) {
            (Some(schedule), _) => schedule,
            (None, Some(told)) => Schedule::named(&told.schedule)?,
            (None, None) => Schedule::Linear,
        };
        let steps = self.steps.or(told.map(|told| told.steps)).unwrap_or(STEPS);
        if !(1..=MOST_STEPS).contains(&steps) || self.t >= steps {
            return Err(refused(format!("t={} is no step of {steps}: {}", self.t, self.name())));
        }
        Ok(Levels { schedule, steps, beta: self.beta })
    }
}

impl Levels {
    /// ᾱ at t: how much of the data's variance is left.
    fn signal(&self, t: usize) -> f64 {
        let (start, end) = self.beta;
        let at = |step: usize| step as f64 / (self.steps - 1).max(1) as f64;
        let cosine = |step: usize| {
            let angle = (step as f64 / self.steps as f64 + 0.008) / 1.008;
            (angle * std::f64::consts::FRAC_PI_2).cos().powi(2)
        };
        let beta = |step: usize| match self.schedule {
            Schedule::Linear => start + (end - start) * at(step),
            Schedule::ScaledLinear => {
                (start.sqrt() + (end.sqrt() - start.sqrt()) * at(step)).powi(2)
            }
            Schedule::Cosine => (1.0 - cosine(step + 1) / cosine(step)).min(0.999),
        };
        (0..=t).map(|step| 1.0 - beta(step)).product()
    }
}

impl FieldSpec for Asked {
    fn learns(&self) -> bool {
        false
    }

    fn card(&self) -> Result<Option<Card>, Error> {
        network::card(&*self.open()?)
    }

    fn assumed_input(&self) -> Option<InputMap> {
        // Diffusion models take images in [-1, 1], unless they say something else.
        InputMap::new(vec![2.0], vec![-1.0]).ok()
    }

    fn begin(&self, learner: &Learner<'_>) -> Result<Learning, Error> {
        let seed = learner.seed;
        let model = self.open()?;
        let told = network::card(&model)?.and_then(|card| card.diffusion);
        let levels = self.levels(told.as_ref())?;
        let signal = levels.signal(self.t);
        Ok(Learning::done(Ddpm { asked: self.clone(), levels, model, signal, seed }))
    }
}

#[derive(Debug)]
struct Ddpm {
    asked: Asked,
    levels: Levels,
    model: Arc<Model>,
    signal: f64,
    seed: u64,
}

impl Ddpm {
    fn sigma(&self) -> f64 {
        (1.0 - self.signal).sqrt()
    }

    /// `s_t`(`y_t`).
    fn noisy_score(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let fill = vec![(Further::Place(0), self.asked.t as f64)];
        let noise = network::field(b, y, &self.model, &Graft { fill, ..Graft::default() })?;
        Ok(b.scale(noise, -1.0 / self.sigma())?)
    }

    /// The mean over draws of noise, all in one batch: draw by draw, the same draws for every sample.
    fn averaged(&self, b: &mut Build<'_>, scaled: Id, draws: usize) -> Result<Id, Error> {
        let shape = b.fact(scaled).shape.clone();
        let (rows, sample) =
            shape.split_first().ok_or_else(|| refused("samples without an axis"))?;
        let mut random = Random::new(self.seed);
        let sizes: Vec<usize> =
            [draws, 1].into_iter().chain(sample.iter().map(|d| d.at(0))).collect();
        let count = sizes.iter().product();
        let noise = std::iter::repeat_with(|| random.normal() * self.sigma()).take(count).collect();
        let noise = b.graph_mut().stored(Tensor::floats(&sizes, noise)?);
        let with = |first: &[Dim]| -> Vec<Dim> { [first, sample].concat() };
        let single = b.reshape(scaled, &with(&[Dim::from(1), *rows]))?;
        let noisy = b.add(single, noise)?;
        let draws_of = |size: i64| size.saturating_mul(i64::try_from(draws).unwrap_or(i64::MAX));
        let folded = Dim { per_batch: draws_of(rows.per_batch), fixed: draws_of(rows.fixed) };
        let noisy = b.reshape(noisy, &with(&[folded]))?;
        let scores = self.noisy_score(b, noisy)?;
        let scores = b.reshape(scores, &with(&[Dim::from(draws), *rows]))?;
        let sum = b.sum(scores, &[0])?;
        let sum = b.reshape(sum, &shape)?;
        Ok(b.scale(sum, 1.0 / draws as f64)?)
    }
}

impl Field for Ddpm {
    fn describe(&self) -> Value {
        let (Asked { t, conversion, .. }, Levels { schedule, steps, beta }) =
            (&self.asked, &self.levels);
        let schedule = match schedule {
            Schedule::Linear => json!({ "name": "linear", "beta": beta }),
            Schedule::ScaledLinear => json!({ "name": "scaled-linear", "beta": beta }),
            Schedule::Cosine => json!({ "name": "cosine" }),
        };
        let mut report = json!({
            "family": "ddpm",
            "file": self.model.name(),
            "t": t,
            "steps": steps,
            "schedule": schedule,
            "alpha_bar": self.signal,
            "sigma": self.sigma(),
            "conversion": conversion.to_string(),
        });
        match conversion {
            Conversion::Unscaled => {}
            Conversion::MeanPoint => {
                report["smoothing"] = json!(self.sigma() / self.signal.sqrt());
            }
            Conversion::Draws(_) => {
                report["smoothing"] = json!(self.sigma() / self.signal.sqrt());
                report["seed"] = json!(self.seed);
            }
        }
        report
    }

    fn noise(&self) -> Vec<f64> {
        match self.asked.conversion {
            Conversion::MeanPoint => vec![self.sigma() / self.signal.sqrt()],
            // Smoothed twice, or in coordinates of its own: no noise makes the identity exact.
            Conversion::Unscaled | Conversion::Draws(_) => Vec::new(),
        }
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let root = self.signal.sqrt();
        let score = match self.asked.conversion {
            Conversion::Unscaled => return self.noisy_score(b, y),
            Conversion::MeanPoint => {
                let scaled = b.scale(y, root)?;
                self.noisy_score(b, scaled)?
            }
            Conversion::Draws(draws) => {
                let scaled = b.scale(y, root)?;
                self.averaged(b, scaled, draws)?
            }
        };
        Ok(b.scale(score, root)?)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayD;
    use taste_data::InMemory;
    use taste_onnx::{ElemType, builders};
    use tempfile::NamedTempFile;

    use super::*;
    use crate::fields::{
        fit, parse,
        testing::{self, file, node},
    };

    /// The noise predictor that is exact for standard normal data, with t linear in the table's index:
    /// ε(y, t) = σ(t)·y, read from a table of σ.
    fn exact_network(kind: ElemType, shape: &[i64]) -> NamedTempFile {
        let sigma = |t: usize| {
            let signal: f64 =
                (0..=t).map(|s| 1.0 - (1e-4 + (0.02 - 1e-4) * s as f64 / 999.0)).product();
            (1.0 - signal).sqrt()
        };
        let table: Vec<f64> = (0..1000).map(sigma).collect();
        let mut cast = node("Cast", &["t"], "index");
        cast.attribute = vec![builders::attr_int("to", i64::from(ElemType::I64.code()))];
        let nodes = vec![
            cast,
            node("Gather", &["table", "index"], "sigma"),
            node("Reshape", &["sigma", "column"], "c"),
            node("Mul", &["x", "c"], "y"),
        ];
        let column = builders::tensor_i64("column", &[2], &[-1, 1]);
        let table = builders::tensor_f64("table", &[1000], &table);
        file(&[-1, 3], Some((kind, shape)), nodes, vec![column, table])
    }

    fn opened(network: &NamedTempFile, options: &str) -> Box<dyn Field> {
        let text = format!("ddpm:{},{options}", network.path().display());
        let samples = InMemory::new("data", ArrayD::zeros(vec![1, 3]));
        fit(&*parse(&text).expect("read"), &samples, 5).expect("opened")
    }

    #[test]
    fn the_schedules_are_the_published_ones() {
        let levels = |schedule, beta| Levels { schedule, steps: 1000, beta };
        let linear = (1e-4, 0.02);
        for (t, root) in [(0, 0.999_950), (50, 0.984_861), (100, 0.946_119), (300, 0.627_703)] {
            let got = levels(Schedule::Linear, linear).signal(t).sqrt();
            assert!((got - root).abs() < 1e-6, "{got} at {t}");
        }
        // ᾱ of the cosine schedule telescopes.
        let got = levels(Schedule::Cosine, linear).signal(499);
        let f = |x: f64| ((x + 0.008) / 1.008 * std::f64::consts::FRAC_PI_2).cos().powi(2);
        assert!((got - f(0.5) / f(0.0)).abs() < 1e-12);
        let ends = levels(Schedule::ScaledLinear, (0.000_85, 0.012)).signal(0);
        assert!((ends - (1.0 - 0.000_85)).abs() < 1e-12);
    }

    #[test]
    fn the_mean_point_gives_the_exact_score_of_smoothed_data() {
        // Data N(0, 1) smoothed by noise of deviation σ/√ᾱ are N(0, 1/ᾱ): s(y) = −ᾱ·y.
        let points = testing::normal_samples(7, 3, 1);
        for (kind, shape) in [
            (ElemType::I64, &[-1][..]),
            (ElemType::I64, &[]),
            (ElemType::I64, &[1]),
            (ElemType::F32, &[-1]),
            (ElemType::F32, &[]),
        ] {
            let network = exact_network(kind, shape);
            for t in [0, 50, 300] {
                let model = opened(&network, &format!("t={t}"));
                let signal = model.describe()["alpha_bar"].as_f64().expect("a number");
                let scores = testing::scores(&*model, &points);
                for (y, s) in points.iter().zip(&scores) {
                    assert!((s + signal * f64::from(*y)).abs() < 1e-9, "{s} at {y}");
                }
                testing::engines_agree(&*model, &points);
            }
        }
    }

    #[test]
    fn a_network_in_memory_is_as_good_as_its_file() {
        let network = exact_network(ElemType::I64, &[-1]);
        let options = "t=50,schedule=cosine";
        let points = testing::normal_samples(7, 3, 1);
        let samples = InMemory::new("data", ArrayD::zeros(vec![1, 3]));
        let open = |options: &str| diffusion(Model::open(network.path()).expect("read"), options);
        let model = fit(&*open(options).expect("asked"), &samples, 5).expect("opened");
        let from_file = opened(&network, options);
        assert_eq!(testing::scores(&*model, &points), testing::scores(&*from_file, &points));
        assert_eq!(model.describe(), from_file.describe());
        let message = open("").expect_err("no step").to_string();
        assert!(message.contains("t is missing"), "{message}");
    }

    #[test]
    fn the_other_conversions_are_what_their_names_say() {
        let network = exact_network(ElemType::I64, &[-1]);
        let points = testing::normal_samples(7, 3, 1);
        let unscaled = opened(&network, "t=200,conversion=s3");
        for (y, s) in points.iter().zip(&testing::scores(&*unscaled, &points)) {
            assert!((s + f64::from(*y)).abs() < 1e-9);
        }
        // −√ᾱ·(√ᾱ·y + σ·mean ε): the same shift for every sample.
        let draws = 64;
        let averaged = opened(&network, &format!("t=200,conversion=s2:{draws}"));
        let report = averaged.describe();
        let number = |key: &str| report[key].as_f64().expect("a number");
        let (signal, sigma) = (number("alpha_bar"), number("sigma"));
        let scores = testing::scores(&*averaged, &points);
        let shift = |row: usize, column: usize| {
            scores[[row, column]] + signal * f64::from(points[[row, column]])
        };
        for column in 0..3 {
            let standard_error = signal.sqrt() * sigma / f64::from(draws).sqrt();
            assert!(shift(0, column).abs() < 4.0 * standard_error);
            assert!(shift(0, column).abs() > 1e-6);
            assert!((0..7).all(|row| (shift(row, column) - shift(0, column)).abs() < 1e-9));
        }
        testing::engines_agree(&*averaged, &points);
        assert_eq!(report["seed"], 5);
    }

    #[test]
    fn a_network_without_a_time_step_is_refused() {
        let network = file(&[-1, 3], None, vec![node("Tanh", &["x"], "y")], vec![]);
        let model = opened(&network, "t=5");
        let message = testing::try_scores(&*model, &testing::normal_samples(2, 3, 0));
        let message = message.expect_err("no time step").to_string();
        assert!(message.contains("besides \"x\""), "{message}");
    }
}
