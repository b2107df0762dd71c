//! Errors as exceptions of `taste_ood`, one class for each kind.

use std::io;

use pyo3::{
    exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError},
    prelude::*,
};
use taste_detector::{Error, ErrorKind};

/// An exception for an error of a library.
pub(crate) fn raise(error: &Error) -> PyErr {
    let text = format!("{error}{}", hint(error));
    match error {
        Error::Data(data) => match data.kind() {
            taste_data::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
            taste_data::ErrorKind::Read | taste_data::ErrorKind::Write => PyOSError::new_err(text),
            _ => of_class("DataError", &text),
        },
        Error::Engine(engine) => match engine.kind() {
            taste_engine::ErrorKind::Input => of_class("DataError", &text),
            taste_engine::ErrorKind::Request | taste_engine::ErrorKind::EveryClass => {
                of_class("ChoiceError", &text)
            }
            _ => match refused_by_system(engine) {
                Some(io::ErrorKind::NotFound) => PyFileNotFoundError::new_err(text),
                Some(_) => PyOSError::new_err(text),
                None => of_class("ModelError", &text),
            },
        },
        other => of_class(class(other.kind()), &text),
    }
}

/// What the operating system said, if it was that which refused.
fn refused_by_system(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind).next()
}

/// An exception for an error of a monitor.
pub(crate) fn raise_monitor(error: &taste_monitor::Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        taste_monitor::ErrorKind::Input | taste_monitor::ErrorKind::Mismatch => choice(&text),
        taste_monitor::ErrorKind::SeenByModel => of_class(
            "DetectorError",
            &format!("{text} (fit with calibration=, or monitor with recalibrate= or optimism=)"),
        ),
        _ => PyOSError::new_err(text),
    }
}

fn class(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Data => "DataError",
        ErrorKind::Model => "ModelError",
        ErrorKind::Detector => "DetectorError",
        ErrorKind::Cancelled => "Cancelled",
        _ => "ChoiceError",
    }
}

/// What to do about it, in words of Python.
fn hint(error: &Error) -> String {
    match error {
        Error::Setting { name, .. } => format!(" ({}=)", name.replace('-', "_")),
        Error::TooFew(shortage) if shortage.hold_out.is_some() => " (held_out=, alpha=)".to_owned(),
        Error::TooFew(_) => " (alpha=)".to_owned(),
        Error::NoMaps => ": fit it again with map=True to see where a sample differs".to_owned(),
        Error::KeepsRows { .. } => " (keep_rows=)".to_owned(),
        Error::NoLabels { .. } => " (labels=)".to_owned(),
        Error::NoNames { .. } => " (class_names=)".to_owned(),
        Error::NoClasses { .. } => " (task=, output=)".to_owned(),
        _ => String::new(),
    }
}

/// A choice that can't be read.
pub(crate) fn choice(text: &str) -> PyErr {
    of_class("ChoiceError", text)
}

/// Data that can't be read.
pub(crate) fn data(text: &str) -> PyErr {
    of_class("DataError", text)
}

/// An exception by the name of its class in `taste_ood._errors`.
fn of_class(name: &str, text: &str) -> PyErr {
    Python::attach(|py| {
        let class = py.import("taste_ood._errors").and_then(|module| module.getattr(name));
        match class.and_then(|class| class.call1((text,))) {
            Ok(error) => PyErr::from_value(error),
            Err(_) => PyRuntimeError::new_err(text.to_owned()),
        }
    })
}

/// Something that was written as JSON by `taste_ood` itself, of the arguments of a call.
pub(crate) fn json<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|e| {
        let argument = culprit::<T>(text).unwrap_or_else(|| what.to_owned());
        let words = e.to_string();
        let words = words.split(" at line").next().unwrap_or_default();
        choice(&format!("{argument}=: {words}"))
    })
}

/// The argument that can't be read, by its name in Python.
fn culprit<T: serde::de::DeserializeOwned>(text: &str) -> Option<String> {
    let all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    let fails = |name: &String| {
        let alone = serde_json::Map::from_iter([(name.clone(), all[name].clone())]);
        let read = serde_json::from_value::<T>(alone.into());
        read.is_err_and(|e| !e.to_string().starts_with("missing field"))
    };
    let name = all.keys().find(|name| fails(name))?;
    Some(match name.as_str() {
        "rule" => "threshold".to_owned(),
        "may_keep_rows" => "keep_rows".to_owned(),
        "classes" => "class_names".to_owned(),
        _ => name.clone(),
    })
}
