//! Derivatives on the backends.

use std::{path::Path, time::Instant};

use ndarray::Zip;
use taste_data::npy;
use taste_engine::{Backend, Compiled, Model, Outputs, Value};
use taste_stats::quantile;

use crate::{
    Options, Outcome,
    cases::{Case, Here},
};

/// Results on both sides may be this far apart, relative to their norm: single precision, and a `ReLU` here and there
/// whose input rounds across zero.
const AGREE: f64 = 0.02;

/// A derivative in an engine, with its inputs and times.
pub(crate) struct Runner {
    pub(crate) what: &'static str,
    pub(crate) backend: &'static str,
    compiled: Compiled,
    feeds: Vec<(String, Value)>,
    pub(crate) times: Vec<f64>,
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
    pub(crate) fn new(
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
        let backend = backend.name();
        Ok(Self { what: here.what, backend, compiled, feeds, times: Vec::new() })
    }

    fn run(&mut self) -> Outcome<Outputs> {
        let feeds: Vec<(&str, &Value)> = self.feeds.iter().map(|(n, v)| (n.as_str(), v)).collect();
        Ok(self.compiled.run(&feeds, 0)?)
    }

    /// Runs once and keeps the time.
    pub(crate) fn turn(&mut self) -> Outcome<()> {
        let start = Instant::now();
        self.run()?;
        self.times.push(start.elapsed().as_secs_f64());
        Ok(())
    }

    /// Runs for the first time, and compares what is exact with the other side's numbers.
    pub(crate) fn warm_up(&mut self, options: &Options, case: &Case) -> Outcome<()> {
        let stochastic = self.compiled.derived().laplacian_method().is_stochastic();
        let results = self.run()?;
        for (name, here) in results.present().filter(|(n, _)| *n != "laplacian" || !stochastic) {
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
