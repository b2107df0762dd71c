//! What all requests share.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};
use ndarray::ArrayD;
use taste_detector::Engine;
use tokio::sync::watch;

use crate::{
    Error,
    auth::{Access, Tokens},
    digest,
    held::{Held, Memory},
    metrics::{Counter, DetectorMetrics},
    model::{Model, VERSION},
    queue::{Job, Queue, Scored},
    record::{Recorder, Watched},
    refusal::{Outcome, Refusal},
    settings::Settings,
    time::now,
};

/// A detector to serve.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it is called; by default as its file, without the ending.
    pub name: Option<String>,
    /// Its file.
    pub path: PathBuf,
}

impl Source {
    fn name(&self) -> Result<String, Error> {
        let stem = || self.path.file_stem().map(|s| s.to_string_lossy().into_owned());
        let name = self.name.clone().or_else(stem).unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 100 || !name.chars().all(plain) || name.starts_with('.')
        {
            return Err(Error::Name(format!(
                "{name:?} can't be a part of an address: letters, digits, - . and _ can"
            )));
        }
        Ok(name)
    }
}

/// A detector with its queue.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) model: Arc<Model>,
    pub(crate) queue: Queue,
    pub(crate) metrics: Arc<DetectorMetrics>,
    /// When it last answered, in milliseconds since 1970.
    pub(crate) last_answer: Counter,
    pub(crate) watched: Option<Arc<Watched>>,
    /// Why there is no monitor, if that is so.
    pub(crate) not_watched: Option<String>,
    /// The thread that counts, until the service ends.
    counting: Mutex<Option<JoinHandle<()>>>,
}

/// How detectors are monitored.
#[derive(Clone, Debug, Default)]
pub struct Watching {
    /// Where their state is, a folder for each; none if it ends with the service.
    pub state: Option<PathBuf>,
    /// What monitors promise and overlook.
    pub settings: taste_monitor::Settings,
    /// How their state is opened.
    pub opening: taste_monitor::Opening,
    /// How many of the worst samples are kept, to be looked at.
    pub keep: usize,
}

impl Watching {
    /// Opens the monitor of a detector. Where nobody asked for a state, a detector that can't be monitored is served
    /// without that.
    fn open(&self, model: &Model, own: &Path) -> Result<Result<Watched, String>, Error> {
        let folder = self.state.as_deref().unwrap_or(own).join(&model.name);
        let baseline = taste_monitor::Baseline::of(&model.detector, model.sha256.as_str());
        std::fs::create_dir_all(&folder)
            .map_err(|source| Error::Read { path: folder.clone(), source })?;
        match taste_monitor::Monitor::open(&folder, baseline, self.settings.clone(), self.opening) {
            Ok(monitor) => {
                for note in monitor.notes() {
                    tracing::warn!(detector = model.name, note, "monitor");
                }
                Ok(Ok(Watched::new(monitor, model, self.keep)))
            }
            Err(e) if self.state.is_none() => Ok(Err(e.to_string())),
            Err(source) => Err(Error::Monitor { name: model.name.clone(), source }),
        }
    }
}

/// What all requests share.
#[derive(Debug)]
pub struct App {
    pub(crate) settings: Settings,
    pub(crate) access: Access,
    pub(crate) memory: Memory,
    pub(crate) served: Vec<Arc<Served>>,
    pub(crate) started: SystemTime,
    ready: AtomicBool,
    /// The state of monitors that ends with the service.
    _own: Option<tempfile::TempDir>,
    /// Connections that were refused or dropped, as there were too many.
    pub(crate) refused_connections: Counter,
    /// True when the service is about to end.
    pub(crate) ending: watch::Sender<bool>,
}

impl App {
    /// Opens detectors and starts their queues.
    pub fn start(
        sources: &[Source],
        engine: &Engine,
        tokens: Option<Tokens>,
        watching: &Watching,
        settings: Settings,
    ) -> Result<Arc<Self>, Error> {
        let own = match watching.state {
            Some(_) => None,
            None => Some(passing_folder().map_err(Error::System)?),
        };
        let own_path = own.as_ref().map_or(Path::new(""), tempfile::TempDir::path);
        let mut served: Vec<Arc<Served>> = Vec::new();
        for source in sources {
            let name = source.name()?;
            if served.iter().any(|other| other.model.name == name) {
                return Err(Error::Name(format!("two detectors are called {name:?}")));
            }
            let model = Arc::new(Model::open(name, &source.path, engine.clone())?);
            served.push(Arc::new(Served::start(model, watching, own_path, &settings)?));
        }
        let access = Access::new(tokens, settings.open_metrics, settings.local_names_only);
        Ok(Arc::new(Self {
            access,
            memory: Memory::new(settings.limits.held),
            served,
            started: SystemTime::now(),
            ready: AtomicBool::new(true),
            _own: own,
            refused_connections: Counter::default(),
            ending: watch::Sender::new(false),
            settings,
        }))
    }

    /// Whether requests are welcome.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Says that requests should go elsewhere; they are still answered.
    pub(crate) fn set_not_ready(&self) {
        self.ready.store(false, Ordering::Relaxed);
    }

    /// Detectors that are served without a monitor, and why.
    pub fn not_monitored(&self) -> Vec<(String, String)> {
        let named =
            |served: &Arc<Served>| Some((served.model.name.clone(), served.not_watched.clone()?));
        self.served.iter().filter_map(named).collect()
    }

    /// Why the service can't do its work, if that is so.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.served.iter().find_map(|served| {
            let monitor = served.watched.as_ref()?.monitor();
            monitor.stopped().map(|why| format!("{}: nothing is counted: {why}", served.model.name))
        })
    }

    /// Scores and counts what is left, and writes what the monitors know. Requests that come later are refused.
    pub fn end(&self) {
        self.served.iter().for_each(|served| served.queue.close());
        for served in &self.served {
            let counting = served.counting.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(thread) = counting {
                let _ = thread.join();
            }
            if let Some(watched) = &served.watched
                && let Err(error) = watched.monitor().snapshot()
            {
                tracing::warn!(detector = served.model.name, %error, "no snapshot was written");
            }
        }
    }

    /// A detector by its name.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Served>, Refusal> {
        let found = self.served.iter().find(|served| served.model.name == name);
        found.map(Arc::clone).ok_or_else(|| {
            let names: Vec<&str> = self.served.iter().map(|s| s.model.name.as_str()).collect();
            let name: String = name.chars().take(100).collect();
            Refusal::not_found(format!("no detector {name:?}; there are {}", names.join(", ")))
        })
    }

    /// Scores samples: they wait in line, and not longer than they may.
    pub(crate) async fn score(&self, served: &Served, asked: Ask) -> Result<Scored, Refusal> {
        let Ask { samples, map, id, monitored, timeout, held } = asked;
        let timeout = timeout.map_or(self.settings.timeout, |t| t.min(self.settings.timeout));
        let deadline = Instant::now() + timeout;
        let counted = monitored.then(|| request_key(id.as_deref(), &samples));
        let answer = served.queue.push(Job { samples, map, deadline, counted, held })?;
        match tokio::time::timeout_at(deadline.into(), answer).await {
            Err(_) => Err(Refusal::late()),
            Ok(Err(_)) => Err(Refusal::failed("the samples were not scored; the log says why")),
            Ok(Ok(result)) => {
                served.last_answer.set(u64::try_from(now()).unwrap_or(0));
                result
            }
        }
    }
}

/// A folder for state that ends with the service: in memory where the system has such, as nothing needs to reach a disk.
fn passing_folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

impl Served {
    fn start(
        model: Arc<Model>,
        watching: &Watching,
        own: &Path,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let metrics = Arc::new(DetectorMetrics::new(&model.detector));
        let (watched, not_watched) = match watching.open(&model, own)? {
            Ok(watched) => (Some(Arc::new(watched)), None),
            Err(why) => (None, Some(why)),
        };
        let recorder = match &watched {
            Some(watched) => {
                let started = Recorder::start(Arc::clone(&model), Arc::clone(watched));
                Some(started.map_err(Error::System)?)
            }
            None => None,
        };
        let (recorder, counting) = recorder.unzip();
        let queue = Queue::start(
            Arc::clone(&model),
            Arc::clone(&metrics),
            recorder,
            settings.queue,
            settings.batch,
        )
        .map_err(Error::System)?;
        let (last_answer, counting) = (Counter::default(), Mutex::new(counting));
        Ok(Self { model, queue, metrics, last_answer, watched, not_watched, counting })
    }
}

/// Samples to be scored.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) samples: ArrayD<f32>,
    pub(crate) map: bool,
    /// What the client calls the request.
    pub(crate) id: Option<String>,
    /// Whether they count for the monitor.
    pub(crate) monitored: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) held: Held,
}

/// The same id with the same samples is a repetition. Some clients give one id to all their requests, so that the id
/// alone would say too little.
fn request_key(id: Option<&str>, samples: &ArrayD<f32>) -> Option<String> {
    let id = id.filter(|id| !id.is_empty())?;
    let bytes: Vec<u8> = samples.iter().flat_map(|v| v.to_le_bytes()).collect();
    let digest = digest::hex(&digest::sha256(&bytes)[..8]);
    let id: String = id.chars().take(100).collect();
    Some(format!("{id} {digest}"))
}

/// Counts how a request ends; one that is dropped on the way was cancelled.
#[derive(Debug)]
pub(crate) struct Tally {
    metrics: Arc<DetectorMetrics>,
    start: Instant,
    ended: bool,
}

impl Tally {
    pub(crate) fn start(served: &Served) -> Self {
        Self { metrics: Arc::clone(&served.metrics), start: Instant::now(), ended: false }
    }

    pub(crate) fn end<T>(mut self, result: &Result<T, Refusal>) {
        self.count(result.as_ref().map_or_else(|refusal| refusal.outcome, |_| Outcome::Ok));
    }

    fn count(&mut self, outcome: Outcome) {
        self.ended = true;
        self.metrics.request(outcome).add(1);
        self.metrics.request_seconds.observe(self.start.elapsed().as_secs_f64());
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if !self.ended {
            self.count(Outcome::Cancelled);
        }
    }
}

/// The detector that a path names, and a version that exists.
pub(crate) struct Chosen(pub(crate) Arc<Served>);

impl FromRequestParts<Arc<App>> for Chosen {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refusal> {
        let params = RawPathParams::from_request_parts(parts, app)
            .await
            .map_err(|e| Refusal::invalid(e.to_string()))?;
        let mut name = None;
        for (key, value) in &params {
            if key == "version" && value != VERSION {
                let message = format!("no version {value:?}; there is {VERSION}");
                return Err(Refusal::not_found(message));
            }
            if key == "model" {
                name = Some(value);
            }
        }
        match (name, &app.served[..]) {
            (Some(name), _) => app.find(name).map(Self),
            (None, [only]) => Ok(Self(Arc::clone(only))),
            (None, _) => {
                let names: Vec<&str> = app.served.iter().map(|s| s.model.name.as_str()).collect();
                Err(Refusal::invalid(format!(
                    "which detector? There are {}: name it in the path",
                    names.join(", ")
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_has_the_id_and_the_samples() {
        let samples = |v: f32| ArrayD::from_elem(vec![2, 3], v);
        let key = |id: &str, v: f32| request_key(Some(id), &samples(v));
        assert_eq!(key("a", 1.0), key("a", 1.0));
        assert_ne!(key("a", 1.0), key("a", 2.0));
        assert_ne!(key("a", 1.0), key("b", 1.0));
        assert_eq!(key("", 1.0), None);
    }

    #[test]
    fn names_are_parts_of_addresses() {
        let name = |name: Option<&str>, path: &str| {
            Source { name: name.map(str::to_owned), path: path.into() }.name()
        };
        assert_eq!(name(None, "a/b/digits-2.onnx").expect("a name"), "digits-2");
        assert_eq!(name(Some("x"), "y.onnx").expect("a name"), "x");
        for bad in ["", "a/b", "..", "ü", "a b"] {
            assert!(name(Some(bad), "y.onnx").is_err(), "{bad}");
        }
    }
}
