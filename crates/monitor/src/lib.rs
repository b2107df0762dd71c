//! Watching a stream of scores: when have the data moved, since when, and how sure is that?
//!
//! - [`sequential`] is the statistics: evidence from the ranks of scores among a fixed set of calibration scores, with
//!   false-alarm rates that are proved and not tuned. It knows neither detectors nor files.
//! - [`Monitor`] watches the streams of a detector (harm, novelty, the signed residual) and keeps what it knows in a folder:
//!   a journal of ranks and snapshots. What was acknowledged outlives a kill, and nothing counts twice.
//! - [`View`] is all that a page or a terminal shows; [`message`] is what other programs are told.
//!
//! No HTTP here: front ends bring samples and carry messages.
//!
//! ```
//! use taste_monitor::{Baseline, Batch, Kind, Monitor, Opening, Origin, Settings, Stream};
//!
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let folder = folder.path();
//! // Of a detector: Baseline::of(&detector, sha256) and Batch::of(&detector, &scores).
//! let usual = (0..1000).map(|i| f64::from(i) / 1000.0);
//! let baseline = Baseline::new("e3b0c4…", vec![Stream::new(Kind::Harm, usual)]);
//! let mut monitor = Monitor::open(folder, baseline, Settings::default(), Opening::default())?;
//!
//! // A request: counted once, however often its sender repeats it.
//! let batch = Batch { values: vec![vec![0.97; 12]], flags: vec![true; 12], names: Vec::new() };
//! let outcome = monitor.record(&batch, Origin::Request { id: "a1".to_owned() })?;
//! // Durable from here on: now it may be answered. One commit serves all records before it.
//! monitor.commit()?;
//! assert_eq!((outcome.counted, outcome.raised), (12, Some(1)));
//! assert!(monitor.record(&batch, Origin::Request { id: "a1".to_owned() })?.duplicate);
//!
//! // Send what waits, then say so: at least once, under a key that stays the same.
//! for (message, alarm) in monitor.outbox() {
//!     let body = taste_monitor::message::plain("digits", "e3b0c4…", &message, &alarm);
//!     // … send the body …
//!     monitor.delivered(message.alarm, message.event)?;
//! }
//! monitor.acknowledge(1, "Ada", "the new camera")?;
//! let view = monitor.view();
//! assert_eq!(view.alarms.len(), 1);
//! # Ok::<(), taste_monitor::Error>(())
//! ```
//!
//! # For front ends
//!
//! - Keep samples in the order in which they came: evidence depends on it, and the guarantee needs an order that does not
//!   depend on scores. Score batches in parallel if you like, but record them in the order of requests.
//! - `record` changes what is in memory and writes to the journal; `commit` makes that durable (one `fsync`). Answer a
//!   request after the commit that follows its record. After an error of either, [`Monitor::stopped`] says why, and nothing
//!   more is counted: open the state again, or end.
//! - A [`Monitor`] is used by one thread at a time (`&mut self`): put it behind a mutex. A record of 64 samples takes tens of
//!   microseconds, a commit what the disk takes.
//! - [`Kept`] holds the last samples, so that an alarm can be told with what its samples differ in: after a record that
//!   raised one, `monitor.explain(id, kept.reasons(&detector, &scorer, &alarm)?)`.
//! - `view` copies at most some ten thousand small numbers; call it for a page, not for every request. For metrics,
//!   [`Monitor::log_evidence`], [`Monitor::samples`] and [`Monitor::standing`] cost nothing.

mod baseline;
mod error;
mod kept;
pub mod message;
mod monitor;
mod origin;
pub mod sequential;
mod settings;
mod store;
mod view;
mod watch;

pub use baseline::{Baseline, Batch, Kind, Stream};
pub use error::{Error, ErrorKind};
pub use kept::Kept;
pub use monitor::{Monitor, Opening, Outcome};
pub use origin::{Cursor, FileId, Origin};
pub use settings::Settings;
pub use view::{Flagged, Status, StreamView, View};
pub use watch::{
    Moment,
    alarms::{
        Acknowledgement, Alarm, Began, Carrier, Event, Message, Reason, Resolution, Standing, Why,
    },
    dependence::{Correlation, Independence},
    rings::Span,
    seen::REMEMBERED,
    series::Point,
    worst::Worst,
};

/// The program in the readme runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
