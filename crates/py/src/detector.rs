//! Detectors.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use ndarray::{Array2, ArrayD, Axis, Slice};
use numpy::{PyArray1, PyArray2, PyArrayDyn};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict},
};
use taste_cli::shown::{self, Mapped};
use taste_data::Options;
use taste_detector::{
    Error, Scorer, Scores,
    explain::Chosen,
    over_channels,
    shift::{Session, TestSettings},
};
use taste_stats::conformal::Rule;
use taste_threads::PerProcess;

use crate::{
    engine::Engine,
    errors::{choice, raise},
    given::{Data, Given, Opened},
    watch::Watch,
};

/// A detector, ready to score.
#[pyclass(frozen, module = "taste_ood._taste", skip_from_py_object)]
pub(crate) struct Detector {
    inner: Arc<taste_detector::Detector>,
    engine: Engine,
    /// With maps or without, with the model's own output or without.
    scorers: PerProcess<HashMap<(bool, bool), Arc<Scorer>>>,
}

impl Detector {
    pub(crate) fn new(detector: taste_detector::Detector, engine: Engine) -> Self {
        Self { inner: Arc::new(detector), engine, scorers: PerProcess::default() }
    }

    pub(crate) fn inner(&self) -> &taste_detector::Detector {
        &self.inner
    }

    pub(crate) fn engine(&self) -> &taste_detector::Engine {
        &self.engine.inner
    }

    /// The SHA-256 of the file.
    pub(crate) fn sha256(&self) -> Result<String, Error> {
        Ok(taste_onnx::sha256(&self.inner.to_bytes()?))
    }

    pub(crate) fn scorer(&self, map: bool, prediction: bool) -> Result<Arc<Scorer>, Error> {
        self.scorers.with(|scorers| {
            if let Some(scorer) = scorers.get(&(map, prediction)) {
                return Ok(scorer.clone());
            }
            let engine = &self.engine.inner;
            let new = if prediction {
                self.inner.start_with_prediction(engine, map)
            } else {
                self.inner.start(engine, map)
            };
            let new = Arc::new(new?);
            scorers.insert((map, prediction), new.clone());
            Ok(new)
        })
    }

    fn chunk(&self, asked: Option<usize>) -> usize {
        asked.unwrap_or(self.inner.manifest().model.chunk).max(1)
    }

    /// Scores data a part at a time; arrays that are as the model takes them are not copied.
    pub(crate) fn each(
        &self,
        data: &Data<'_>,
        options: &Options,
        with: (bool, bool, Option<usize>),
        watch: &Watch,
        mut take: impl FnMut(&[usize], &ndarray::ArrayViewD<'_, f32>, Scores) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (map, prediction, batch) = with;
        let scorer = self.scorer(map, prediction)?;
        let chunk = self.chunk(batch);
        let opened = data.open(options)?;
        if let Opened::Lent(lent) = &opened
            && let Some(view) = lent.as_they_are()
        {
            let rows = view.shape()[0];
            for start in (0..rows).step_by(chunk) {
                let end = rows.min(start + chunk);
                let part = view.slice_axis(Axis(0), Slice::from(start..end));
                let scores = scorer.score(part.view())?;
                take(&(start..end).collect::<Vec<_>>(), &part, scores)?;
                watch.go_on(end, rows)?;
            }
            return Ok(());
        }
        let hear = |stage: taste_detector::Stage<'_>| watch.hear(stage);
        let samples = opened.samples();
        scorer.each(samples, chunk, &hear, |chunk, scores| {
            let places: Vec<usize> = chunk.index.iter().map(|&i| samples.place(i)).collect();
            take(&places, &chunk.values.view(), scores.clone())
        })?;
        Ok(())
    }
}

/// What a detector says of some samples.
#[pyclass(frozen, module = "taste_ood._taste", skip_from_py_object)]
pub(crate) struct Scored {
    detector: Arc<taste_detector::Detector>,
    score: Vec<f32>,
    novelty: Option<Vec<f32>>,
    flagged: usize,
}

#[pymethods]
impl Scored {
    /// As a page for a browser.
    fn page(&self) -> String {
        let Self { detector, score, novelty, flagged } = self;
        shown::scores(detector, score, novelty.as_deref(), *flagged).page
    }
}

#[pymethods]
impl Detector {
    /// Reads a file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, engine: &Engine) -> PyResult<Self> {
        let detector = py.detach(|| taste_detector::Detector::open(&path));
        Ok(Self::new(detector.map_err(|e| raise(&e))?, engine.clone()))
    }

    /// Reads the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8], engine: &Engine) -> PyResult<Self> {
        let detector = py.detach(|| taste_detector::Detector::from_bytes(bytes));
        Ok(Self::new(detector.map_err(|e| raise(&e))?, engine.clone()))
    }

    /// The bytes of the file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.inner.to_bytes()).map_err(|e| raise(&e))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the file, which is replaced as a whole or left as it was.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.inner.save(&path)).map_err(|e| raise(&e))
    }

    /// The same in another engine.
    fn within(&self, engine: &Engine) -> Self {
        let scorers = PerProcess::default();
        Self { inner: self.inner.clone(), engine: engine.clone(), scorers }
    }

    /// The manifest as JSON.
    fn manifest(&self) -> PyResult<String> {
        serde_json::to_string(self.inner.manifest()).map_err(|e| choice(&e.to_string()))
    }

    /// The calibration scores, ascending.
    fn calibration<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, self.inner.calibration())
    }

    /// The name of the backend and the number of threads.
    fn engine_facts(&self) -> (&'static str, usize) {
        (self.engine.inner.backend.name(), self.engine.inner.threads)
    }

    /// In words.
    fn text(&self) -> String {
        shown::detector(&self.inner, "").text
    }

    /// As a page for a browser.
    fn page(&self, name: &str) -> String {
        shown::detector(&self.inner, name).page
    }

    /// With other thresholds.
    #[pyo3(signature = (alpha=None, rule=None, goal=None, threshold=None))]
    fn decided(
        &self,
        alpha: Option<f64>,
        rule: Option<&str>,
        goal: Option<&str>,
        threshold: Option<f64>,
    ) -> PyResult<Self> {
        let mut detector = self.inner.as_ref().clone();
        let decision = detector.manifest().decision.clone();
        let goal = goal.map(str::parse).transpose();
        let goal = goal.map_err(|e: Error| raise(&e))?;
        let rule = rule.map(str::parse::<Rule>).transpose().map_err(|e| choice(&e))?;
        let changed = match (threshold, alpha.or(decision.alpha)) {
            (Some(threshold), _) => detector.set_threshold(threshold),
            (None, Some(alpha)) => {
                let rule = rule.or(decision.rule.parse().ok()).unwrap_or(Rule::Conformal);
                detector.decide(goal.unwrap_or(decision.goal), alpha, rule)
            }
            (None, None) => goal.map_or(Ok(()), |goal| detector.set_goal(goal)),
        };
        changed.map_err(|e| raise(&e))?;
        Ok(Self::new(detector, self.engine.clone()))
    }

    /// Scores samples: arrays by name, and what draws them.
    #[pyo3(signature = (data, *, map=false, prediction=false, batch=None, progress=None))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        data: Given<'py>,
        map: bool,
        prediction: bool,
        batch: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyDict>, Scored)> {
        let data = data.lend();
        let watch = Watch::new(progress);
        let mut all = Columns::default();
        let with = (map, prediction, batch);
        let done = py.detach(|| {
            let options = self.inner.reading();
            self.each(&data, &options, with, &watch, |index, _, scores| {
                all.add(index, scores);
                Ok(())
            })
        });
        done.map_err(|e| watch.raise(&e))?;
        let scored = Scored {
            detector: self.inner.clone(),
            score: all.score.clone(),
            novelty: (!all.novelty.is_empty()).then(|| all.novelty.clone()),
            flagged: all.flag.iter().filter(|f| **f).count(),
        };
        Ok((all.into_dict(py)?, scored))
    }

    /// Tests batches: what was found as JSON, in words and as a page.
    #[pyo3(signature = (data, *, alpha=None, least_effect=None, permutations=None, batch_size=None, by=None, seed=0,
                        progress=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of Detector.test")]
    fn test(
        &self,
        py: Python<'_>,
        data: Given<'_>,
        alpha: Option<f64>,
        least_effect: Option<f64>,
        permutations: Option<usize>,
        batch_size: Option<usize>,
        by: Option<&str>,
        seed: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, String, String)> {
        let data = data.lend();
        let watch = Watch::new(progress);
        let defaults = TestSettings::of(&self.inner);
        let settings = TestSettings {
            alpha: alpha.unwrap_or(defaults.alpha),
            least_effect: least_effect.unwrap_or(defaults.least_effect),
            permutations: permutations.unwrap_or(defaults.permutations),
            batch_size,
            by: by.map(|by| {
                by.parse().unwrap_or_else(|never: std::convert::Infallible| match never {})
            }),
            seed,
        };
        let work = || -> Result<_, Error> {
            let mut session = Session::new(&self.inner, settings.clone())?;
            let scorer = self.scorer(self.inner.has_map(), false)?;
            let keep = settings.by.iter().map(|by| by.column.clone()).collect();
            let opened = data.open(&Options { keep, ..self.inner.reading() })?;
            let hear = |stage: taste_detector::Stage<'_>| watch.hear(stage);
            session.add(&scorer, opened.samples(), self.chunk(None), &hear)?;
            session.finish()
        };
        let tests = py.detach(work).map_err(|e| watch.raise(&e))?;
        let json = serde_json::to_string(&tests).map_err(|e| choice(&e.to_string()))?;
        let shown = shown::tests(&self.inner, "", &settings, tests);
        Ok((json, shown.text, shown.page))
    }

    /// Maps of the samples with these numbers, or of those with the largest scores: numbers, scores, p-values, flags,
    /// samples and maps, and a page.
    #[pyo3(signature = (data, *, samples, most, progress=None))]
    #[expect(clippy::type_complexity, reason = "taken apart by Detector.explain")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        data: Given<'py>,
        samples: Vec<usize>,
        most: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(
        Vec<usize>,
        Vec<f32>,
        Vec<f32>,
        Vec<bool>,
        Vec<Bound<'py, PyArrayDyn<f32>>>,
        String,
    )> {
        let data = data.lend();
        let watch = Watch::new(progress);
        let work = || -> Result<_, Error> {
            let mut chosen = Chosen::new(&samples, most);
            let options = self.inner.reading();
            self.each(&data, &options, (true, false, None), &watch, |index, values, scores| {
                for (i, &number) in index.iter().enumerate() {
                    chosen.offer(number, scores.score[i], || {
                        let of = |all: &ArrayD<f32>| all.index_axis(Axis(0), i).to_owned();
                        let map = scores.map.as_ref().map(of).unwrap_or_default();
                        let value = values.index_axis(Axis(0), i).to_owned();
                        (number, scores.score[i], scores.p_value[i], scores.flag[i], value, map)
                    });
                }
                Ok(())
            })?;
            chosen.finish().map_err(|n| taste_detector::refused(format!("there is no sample {n}")))
        };
        let found = py.detach(work).map_err(|e| watch.raise(&e))?;
        let mapped: Vec<Mapped> = found
            .iter()
            .map(|(index, _, p_value, _, values, map)| {
                let summed = over_channels(&map.clone().insert_axis(Axis(0)));
                let map = summed.index_axis_move(Axis(0), 0);
                Mapped { index: *index, p_value: *p_value, values: values.clone(), map }
            })
            .collect();
        let page = shown::maps(&self.inner, &mapped).page;
        let numbers = found.iter().map(|f| f.0).collect();
        let scores = found.iter().map(|f| f.1).collect();
        let p_values = found.iter().map(|f| f.2).collect();
        let flags = found.iter().map(|f| f.3).collect();
        let maps = found.into_iter().map(|f| PyArrayDyn::from_owned_array(py, f.5)).collect();
        Ok((numbers, scores, p_values, flags, maps, page))
    }
}

/// Scores as columns.
#[derive(Default)]
struct Columns {
    index: Vec<i64>,
    score: Vec<f32>,
    p_value: Vec<f32>,
    flag: Vec<bool>,
    novelty: Vec<f32>,
    novelty_p_value: Vec<f32>,
    parts: Vec<(String, usize, Vec<f32>)>,
    map: Option<(Vec<usize>, Vec<f32>)>,
    prediction: Option<(usize, Vec<f32>)>,
}

impl Columns {
    fn add(&mut self, index: &[usize], scores: Scores) {
        self.index.extend(index.iter().map(|&i| i as i64));
        self.score.extend(scores.score);
        self.p_value.extend(scores.p_value);
        self.flag.extend(scores.flag);
        if let Some(novelty) = scores.novelty {
            self.novelty.extend(novelty.score);
            self.novelty_p_value.extend(novelty.p_value);
        }
        for (at, (name, values)) in scores.parts.into_iter().enumerate() {
            if self.parts.len() <= at {
                self.parts.push((name, values.ncols(), Vec::new()));
            }
            self.parts[at].2.extend(values);
        }
        if let Some(map) = scores.map {
            let shape = map.shape()[1..].to_vec();
            self.map.get_or_insert((shape, Vec::new())).1.extend(map);
        }
        if let Some(values) = scores.prediction {
            self.prediction.get_or_insert((values.ncols(), Vec::new())).1.extend(values);
        }
    }

    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let rows = self.score.len();
        let matrix = |width: usize, values: Vec<f32>| {
            let values = Array2::from_shape_vec((rows, width), values).unwrap_or_default();
            PyArray2::from_owned_array(py, values)
        };
        let all = PyDict::new(py);
        all.set_item("index", PyArray1::from_vec(py, self.index))?;
        all.set_item("score", PyArray1::from_vec(py, self.score))?;
        all.set_item("p_value", PyArray1::from_vec(py, self.p_value))?;
        all.set_item("flag", PyArray1::from_vec(py, self.flag))?;
        if !self.novelty.is_empty() {
            all.set_item("novelty", PyArray1::from_vec(py, self.novelty))?;
            all.set_item("novelty_p_value", PyArray1::from_vec(py, self.novelty_p_value))?;
        }
        let parts = PyDict::new(py);
        for (name, width, values) in self.parts {
            parts.set_item(name, matrix(width, values))?;
        }
        all.set_item("parts", parts)?;
        if let Some((shape, values)) = self.map {
            let shape: Vec<usize> = std::iter::once(rows).chain(shape).collect();
            let map = ArrayD::from_shape_vec(shape, values).unwrap_or_default();
            all.set_item("map", PyArrayDyn::from_owned_array(py, map))?;
        }
        if let Some((width, values)) = self.prediction {
            all.set_item("prediction", matrix(width, values))?;
        }
        Ok(all)
    }
}
