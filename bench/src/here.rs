//! Derivatives on the backends.

use std::{fs, path::Path, sync::OnceLock, thread, time::Instant};

use ndarray::Zip;
use taste_data::npy;
use taste_engine::{Backend, Model, Value};
use taste_stats::quantile;

use crate::{
    Options, Outcome,
    cases::{Case, Here},
};

/// Results on both sides may be this far apart, relative to their norm: single precision, and a `ReLU` here and there
/// whose input rounds across zero.
const AGREE: f64 = 0.02;

/// What is computed, by name.
type Results = Vec<(&'static str, Value)>;

/// A model or a derivative of it in an engine, with its inputs and times.
pub(crate) struct Runner {
    pub(crate) what: &'static str,
    pub(crate) backend: &'static str,
    run: Box<dyn Fn() -> Outcome<Results>>,
    clock: fn() -> f64,
    pub(crate) times: Vec<f64>,
}

/// Seconds by the clock on the wall.
fn wall() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Seconds that the threads of this process were on a processor, as Linux tells them.
fn processor() -> f64 {
    // What this thread used until now is only counted when it stops.
    thread::yield_now();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let used = tasks.filter_map(|task| {
        let told = fs::read_to_string(task.path().join("schedstat")).ok()?;
        told.split(' ').next()?.parse::<f64>().ok()
    });
    1e-9 * used.sum::<f64>()
}

pub(crate) fn open(options: &Options, model: &str) -> Outcome<Model> {
    let path = match model {
        "resnet20" | "resnet56" => options.models.join(format!("cifar10_{model}.onnx")),
        other => options.work.join(format!("{other}.onnx")),
    };
    Ok(Model::open(&path)?)
}

pub(crate) fn read(path: &Path, rows: usize) -> Outcome<Value> {
    match npy::Reader::open(path)?.rows(0, rows)? {
        npy::Elements::F32(a) => Ok(Value::F32(a)),
        _ => Err(format!("{}: not float32", path.display()).into()),
    }
}

impl Runner {
    /// The outputs of the case's model.
    pub(crate) fn of_model(options: &Options, case: &Case, backend: &Backend) -> Outcome<Self> {
        let session = backend.load(&open(options, case.model)?, &["logits"], options.threads)?;
        let x = read(&options.work.join(format!("{}_x.npy", case.model)), case.batch)?;
        let run = move || {
            let mut outputs = session.run(&[("x", &x)])?;
            Ok(outputs.pop().map(|logits| ("outputs", logits)).into_iter().collect())
        };
        Ok(Self::new(options, "forward", backend, Box::new(run)))
    }

    pub(crate) fn of_derivative(
        options: &Options,
        case: &Case,
        here: &Here,
        backend: &Backend,
    ) -> Outcome<Self> {
        let model = open(options, case.model)?;
        let derived = model.derive(&here.request(0))?;
        if let Some(folder) = &options.keep {
            let name = format!("{}-{}.onnx", case.model, here.what.replace([' ', ':'], "-"));
            model.derive_file(&here.request(0))?.save(&folder.join(name))?;
        }
        let compiled = derived.compile(backend, options.threads)?;
        let input =
            |name: &str| read(&options.work.join(format!("{}_{name}.npy", case.model)), case.batch);
        let mut feeds = vec![(derived.wrt().to_owned(), input("x")?)];
        if let Some(field) = derived.field() {
            feeds.push((field.to_owned(), input("score")?));
        }
        let stochastic = derived.laplacian_method().is_stochastic();
        let run = move || {
            let feeds: Vec<(&str, &Value)> = feeds.iter().map(|(n, v)| (n.as_str(), v)).collect();
            let results = compiled.run(&feeds, 0)?;
            Ok(results.present().filter(|(n, _)| *n != "laplacian" || !stochastic).collect())
        };
        Ok(Self::new(options, here.what, backend, Box::new(run)))
    }

    fn new(
        options: &Options,
        what: &'static str,
        backend: &Backend,
        run: Box<dyn Fn() -> Outcome<Results>>,
    ) -> Self {
        let clock = if options.processor { processor } else { wall };
        Self { what, backend: backend.name(), run, clock, times: Vec::new() }
    }

    /// Runs once and keeps the time.
    pub(crate) fn turn(&mut self) -> Outcome<()> {
        let start = (self.clock)();
        (self.run)()?;
        self.times.push((self.clock)() - start);
        Ok(())
    }

    /// Runs for the first time, and compares what is exact with the other side's numbers.
    pub(crate) fn warm_up(&mut self, options: &Options, case: &Case) -> Outcome<()> {
        for (name, here) in (self.run)()? {
            let path = options.work.join(format!("{}_{name}.npy", case.name));
            if path.exists() {
                let there = read(&path, case.batch)?.to_f64();
                let here = here.to_f64();
                let (mut off, mut size) = (0.0, 0.0);
                Zip::from(&here).and(&there).for_each(|h, t| {
                    off += (h - t).powi(2);
                    size += t.powi(2);
                });
                let distance = (off / size).sqrt();
                if distance.is_nan() || distance > AGREE {
                    let Self { what, backend, .. } = self;
                    return Err(format!(
                        "{}: {name} of {what} on {backend} is off by {distance:.1e}",
                        case.name
                    )
                    .into());
                }
            }
        }
        Ok(())
    }
}

/// The median; NaN without numbers.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    quantile::median(numbers).unwrap_or(f64::NAN)
}
