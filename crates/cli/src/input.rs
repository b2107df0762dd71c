//! Inputs of the model, from files.

use std::path::Path;

use anyhow::{Context, Result, bail};
use ndarray::ArrayD;
use taste_data::npy::{DType, Elements, Reader};
use taste_engine::{Port, Value};

use crate::table;

/// The input that `[NAME=]REST` names, by default the one that is differentiated by.
pub(crate) fn named<'a>(text: &'a str, ports: &'a [Port], wrt: &'a str) -> (&'a str, &'a str) {
    match text.split_once('=') {
        Some((name, rest)) if ports.iter().any(|p| p.name == name) => (name, rest),
        _ => (wrt, text),
    }
}

/// `3,32,32` or `3x32x32`; empty for samples that are single numbers.
pub(crate) fn sizes(text: &str) -> Result<Vec<usize>> {
    let parts = text.split([',', 'x', '×']).map(str::trim).filter(|_| !text.trim().is_empty());
    let sizes: Result<Vec<usize>, _> = parts.map(str::parse).collect();
    sizes.ok().with_context(|| format!("--shape {text:?} is not a list of sizes like 3,32,32"))
}

/// An array of samples for an input.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) reader: Reader,
    is_float: bool,
    /// uint8 values are divided by 255.
    pub(crate) scaled: bool,
}

impl Source {
    pub(crate) fn open(port: &Port, path: &Path, raw: bool) -> Result<Self> {
        let reader = Reader::open(path)?;
        let place = path.display();
        let shape = reader.shape();
        match shape {
            [] => bail!("{place}: it holds a single number, not an array of samples"),
            [0, ..] => {
                bail!("{place}: it holds no samples, as its shape is {}", table::shape(shape))
            }
            _ => {}
        }
        if !port.is_float && reader.dtype().is_float() {
            bail!(
                "{place}: input {:?} wants integers, and the file holds {}",
                port.name,
                reader.dtype()
            );
        }
        if let Some(want) = &port.shape {
            let fits = |want: &[Result<usize, String>], got: &[usize]| {
                want.len() == got.len()
                    && want.iter().zip(got).all(|(w, g)| w.as_ref().map_or(true, |w| w == g))
            };
            let samples = want.get(1..).unwrap_or_default();
            if !fits(samples, &shape[1..]) {
                let shown: Vec<String> = samples
                    .iter()
                    .map(|s| s.as_ref().map_or_else(Clone::clone, usize::to_string))
                    .collect();
                let shown: Vec<&str> =
                    std::iter::once("N").chain(shown.iter().map(String::as_str)).collect();
                let hint =
                    if fits(samples, shape) { ": a first axis of samples is missing" } else { "" };
                bail!(
                    "{place}: input {:?} wants an array of shape {}, and the file has {}{hint}",
                    port.name,
                    table::shape(&shown),
                    table::shape(shape)
                );
            }
        }
        let scaled = port.is_float && reader.dtype() == DType::U8 && !raw;
        Ok(Self { name: port.name.clone(), reader, is_float: port.is_float, scaled })
    }

    pub(crate) fn samples(&self) -> usize {
        self.reader.shape()[0]
    }

    /// Samples `start..end`, in double precision if that is what the engine computes in.
    pub(crate) fn read(&mut self, start: usize, end: usize, double: bool) -> Result<Value> {
        let elements = self.reader.rows(start, end)?;
        let value = match elements {
            Elements::U8(a) if !self.is_float => Value::I64(a.mapv(i64::from)),
            Elements::I64(a) if !self.is_float => Value::I64(a),
            Elements::U8(a) => {
                let unit = if self.scaled { 255.0 } else { 1.0 };
                floats(a.mapv(|v| f64::from(v) / unit), double)
            }
            Elements::I64(a) => floats(a.mapv(|v| v as f64), double),
            Elements::F32(a) => Value::F32(a),
            Elements::F64(a) => {
                self.check_finite(&Value::F64(a.clone()), start, "NaN or infinite entries")?;
                floats(a, double)
            }
        };
        let double_only = matches!(self.reader.dtype(), DType::F64) && !double;
        let what = if double_only {
            "entries too large for single precision (--backend reference computes in double precision)"
        } else {
            "NaN or infinite entries"
        };
        self.check_finite(&value, start, what)?;
        Ok(value)
    }

    fn check_finite(&self, value: &Value, first: usize, what: &str) -> Result<()> {
        if value.is_finite() {
            return Ok(());
        }
        let rows = value.shape()[0];
        let bad = (0..rows).find(|&n| !value.rows(n, n + 1).is_finite()).unwrap_or(0);
        bail!(
            "{}: sample {} (counted from 0) holds {what}",
            self.reader.path().display(),
            first + bad
        );
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the engine computes in single precision")]
fn floats(a: ArrayD<f64>, double: bool) -> Value {
    if double { Value::F64(a) } else { Value::F32(a.mapv(|v| v as f32)) }
}
