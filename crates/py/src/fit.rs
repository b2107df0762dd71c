//! Fits on this machine.

use std::{collections::BTreeMap, sync::Arc};

use pyo3::prelude::*;
use taste_data::{Options, Padding, Samples};
use taste_detector::{Error, Fit, Method, Named, Settings};
use taste_zoo::evaluation::{Set, Truth, learn_errors};

use crate::{
    detector::Detector,
    engine::Engine,
    errors::{json, raise},
    given::{Data, Given},
    model::Model,
    watch::Watch,
};

/// What a detector is to be.
pub(crate) struct Order {
    pub(crate) method: Arc<dyn Method>,
    pub(crate) settings: Settings,
    pub(crate) reading: Options,
    pub(crate) padding: Padding,
}

impl Order {
    /// From a method with its options, and settings as JSON.
    pub(crate) fn read(
        method: &str,
        options: BTreeMap<String, String>,
        settings: &str,
        reading: &str,
    ) -> PyResult<Self> {
        let named = options.into_iter().fold(Named::new(), |named, (k, v)| named.with(&k, v));
        Ok(Self {
            method: taste_catalog::method(method, &named).map_err(|e| raise(&e))?,
            settings: json("settings", settings)?,
            reading: json("reading", reading)?,
            padding: Padding::default(),
        })
    }
}

/// Makes a detector of a model and data.
#[pyfunction]
#[pyo3(signature = (model, data, calibration, method, options, settings, reading, padding, engine, progress=None))]
#[expect(clippy::too_many_arguments, reason = "called by taste_ood.fit alone")]
pub(crate) fn fit(
    py: Python<'_>,
    model: &Model,
    data: Given<'_>,
    calibration: Option<Given<'_>>,
    method: &str,
    options: BTreeMap<String, String>,
    settings: &str,
    reading: &str,
    padding: (Option<usize>, f32),
    engine: &Engine,
    progress: Option<Py<PyAny>>,
) -> PyResult<Detector> {
    let padding = Padding { length: padding.0, with: padding.1 };
    let order = Order { padding, ..Order::read(method, options, settings, reading)? };
    let (data, calibration) = (data.lend(), calibration.as_ref().map(Given::lend));
    let watch = Watch::new(progress);
    let made = py.detach(|| make(model, &data, calibration.as_ref(), order, engine, &watch));
    Ok(Detector::new(made.map_err(|e| watch.raise(&e))?, engine.clone()))
}

fn make(
    model: &Model,
    data: &Data<'_>,
    calibration: Option<&Data<'_>>,
    order: Order,
    engine: &Engine,
    watch: &Watch,
) -> Result<taste_detector::Detector, Error> {
    let model = &model.inner;
    if taste_detector::Detector::is_one(model.onnx()) {
        let name = model.name();
        return Err(taste_detector::refused(format!(
            "{name}: this is a detector already; give the model that it was made of"
        )));
    }
    let train = data.train(model, order.reading, order.method.needs(), order.padding)?;
    let apart = calibration.map(|c| c.open(&train.options)).transpose()?;
    let hear = |stage: taste_detector::Stage<'_>| watch.hear(stage);
    let mut detector = Fit::new(model, order.method)
        .settings(order.settings)
        .engine(engine.inner.clone())
        .reading(train.options.clone(), train.bytes)
        .progress(&hear)
        .run(train.samples.samples(), apart.as_ref().map(|c| c.samples() as &dyn Samples))?;
    if let (Some(given), Some(apart)) = (calibration, &apart)
        && let Some(labels) = given.truth(&train.options)?
    {
        let (name, truth) = (apart.samples().name().to_owned(), Truth::Given(&labels));
        let set = Set { name, data: apart.samples(), truth };
        let chunk = detector.manifest().model.chunk;
        let errors = learn_errors(&detector, &engine.inner, chunk, &set, &hear)?;
        detector.set_errors(errors)?;
    }
    Ok(detector)
}
