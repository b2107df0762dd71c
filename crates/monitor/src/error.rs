//! What can go wrong.

use std::path::PathBuf;

/// Why a stream can't be watched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Too few calibration scores.
    #[error("a stream is held against at least {least} calibration scores, but there are {found}")]
    TooFew {
        /// How many there are.
        found: usize,
        /// How many are needed.
        least: usize,
    },
    /// A setting out of its range.
    #[error("the {name} must be {wanted}, but is {found}")]
    Setting {
        /// What it is called.
        name: &'static str,
        /// What it may be.
        wanted: &'static str,
        /// What was given.
        found: f64,
    },
    /// The model was trained on the calibration samples, so that a false alarm is certain.
    #[error(
        "the detector was calibrated on samples that its model may have been trained on, and new samples look worse than \
         those: an alarm would be certain within a thousand samples or so, whatever comes"
    )]
    SeenByModel,
    /// Values that do not fit the streams.
    #[error(
        "a batch of {samples} samples needs {streams} lists of as many values, but has lists of {found:?}"
    )]
    Batch {
        /// Streams that are watched.
        streams: usize,
        /// Samples, by their flags.
        samples: usize,
        /// The lengths of the lists.
        found: Vec<usize>,
    },
    /// Rows before these were never counted.
    #[error("{name}: rows {counted} to {first} were never counted")]
    Gap {
        /// The file.
        name: String,
        /// Rows that are counted.
        counted: u64,
        /// The row that the batch starts at.
        first: u64,
    },
    /// There is no such alarm, or it is resolved.
    #[error("there is no open alarm {0}")]
    NoAlarm(u64),
    /// There is no state in the folder.
    #[error("{}: there is no state of a monitor", .0.display())]
    NoState(PathBuf),
    /// The state belongs to another detector.
    #[error("{}: this state belongs to another detector (SHA-256 {found}, now {wanted})", folder.display())]
    OtherDetector {
        /// The folder.
        folder: PathBuf,
        /// The one that it was begun with.
        found: String,
        /// The one at hand.
        wanted: String,
    },
    /// The state was begun with other settings.
    #[error("{}: this state was begun with other settings: {what}", folder.display())]
    OtherSettings {
        /// The folder.
        folder: PathBuf,
        /// Which, and what they were.
        what: String,
    },
    /// Another process holds the state.
    #[error("{}: another process is using this state", .0.display())]
    Locked(PathBuf),
    /// A file of the state is damaged.
    #[error("{}: the file is damaged at byte {at}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        at: u64,
        /// How.
        what: String,
    },
    /// Records that were acknowledged are gone.
    #[error(
        "{}: the journal ends at record {found}, but record {acknowledged} had been acknowledged: samples are lost",
        folder.display()
    )]
    Lost {
        /// The folder.
        folder: PathBuf,
        /// The last record that is there.
        found: u64,
        /// The last that was acknowledged.
        acknowledged: u64,
    },
    /// A file of the state can't be read or written.
    #[error("{}: {what}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// Something could not be made durable; nothing is acknowledged any more until the state is opened again.
    #[error("nothing is counted any more, as a record could not be made durable: {0}")]
    Stopped(String),
}

/// What kind of error it is, for front ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting, or a batch that does not fit.
    Input,
    /// The calibration can't be trusted.
    SeenByModel,
    /// The state belongs to something else.
    Mismatch,
    /// Another process holds the state.
    Locked,
    /// The state is damaged or incomplete.
    Damaged,
    /// Files can't be read or written.
    File,
    /// Nothing is acknowledged any more.
    Stopped,
}

impl Error {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TooFew { .. }
            | Self::Setting { .. }
            | Self::Batch { .. }
            | Self::Gap { .. }
            | Self::NoAlarm(_)
            | Self::NoState(_) => ErrorKind::Input,
            Self::SeenByModel => ErrorKind::SeenByModel,
            Self::OtherDetector { .. } | Self::OtherSettings { .. } => ErrorKind::Mismatch,
            Self::Locked(_) => ErrorKind::Locked,
            Self::Damaged { .. } | Self::Lost { .. } => ErrorKind::Damaged,
            Self::File { .. } => ErrorKind::File,
            Self::Stopped(_) => ErrorKind::Stopped,
        }
    }
}
