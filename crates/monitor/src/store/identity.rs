//! What a state belongs to.

use std::{fs, io::Write, path::Path};

use serde::{Deserialize, Serialize};
use taste_files::AtomicFile;

use super::{about, sync_folder};
use crate::{Baseline, Error, Kind, Settings};

pub(super) const FILE: &str = "monitor.json";
const FORMAT: u32 = 1;

/// The detector, the settings and the streams of a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    format: u32,
    detector: String,
    settings: Settings,
    streams: Vec<StreamId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StreamId {
    kind: Kind,
    counts: bool,
    samples: usize,
    /// The SHA-256 of the calibration values.
    calibration: String,
}

impl Identity {
    pub(crate) fn of(baseline: &Baseline, settings: &Settings) -> Self {
        let streams = baseline.streams.iter().map(|stream| {
            let values = stream.calibration.scores();
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let digest = taste_onnx::sha256(&bytes);
            let (kind, counts, samples) = (stream.kind, stream.counts, values.len());
            StreamId { kind, counts, samples, calibration: digest }
        });
        Self {
            format: FORMAT,
            detector: baseline.detector.clone(),
            settings: settings.clone(),
            streams: streams.collect(),
        }
    }

    /// Compares with what the folder was begun with; a new folder is begun with this.
    pub(crate) fn check(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return self.begin(folder),
            Err(e) => return Err(about(&path, &e)),
        };
        let found: Self = serde_json::from_str(&text).map_err(|e| Error::Damaged {
            path: path.clone(),
            at: 0,
            what: format!("it can't be read: {e}"),
        })?;
        if found.detector != self.detector {
            return Err(Error::OtherDetector {
                folder: folder.to_owned(),
                found: found.detector,
                wanted: self.detector.clone(),
            });
        }
        let differs = |name: &str, was: String, is: String| format!("{name} {was}, now {is}");
        let what = if found.settings != self.settings {
            difference(&found.settings, &self.settings)
        } else if found.streams != self.streams {
            let names = |id: &Self| {
                let watched = id.streams.iter().filter(|s| s.counts);
                watched.map(|s| s.kind.to_string()).collect::<Vec<_>>().join(" and ")
            };
            differs("alarms from", names(&found), names(self))
        } else if found.format != self.format {
            differs("format", found.format.to_string(), self.format.to_string())
        } else {
            return Ok(());
        };
        Err(Error::OtherSettings { folder: folder.to_owned(), what })
    }

    fn begin(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(FILE);
        // Records without what they belong to must not be taken for a new state.
        if !super::numbered(folder, "journal-")?.is_empty() {
            let what = "it is missing, and there is a journal beside it".to_owned();
            return Err(Error::Damaged { path, at: 0, what });
        }
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        let written = AtomicFile::create(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.commit()?;
            sync_folder(folder)
        });
        written.map_err(|e| about(&path, &e))
    }
}

/// The first setting that differs, in words.
fn difference(was: &Settings, is: &Settings) -> String {
    let fields = |s: &Settings| {
        let serde_json::Value::Object(fields) = serde_json::to_value(s).unwrap_or_default() else {
            return serde_json::Map::new();
        };
        fields
    };
    let (was, is) = (fields(was), fields(is));
    let found = was.iter().find(|(name, value)| is.get(*name) != Some(*value));
    let now = |name: &str| is.get(name).map(ToString::to_string).unwrap_or_default();
    found.map_or_else(String::new, |(name, value)| {
        format!("{} {value}, now {}", name.replace('_', " "), now(name))
    })
}
