//! Why a service can't start.

use std::{io, net::SocketAddr, path::PathBuf};

/// Why a service can't start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file can't be read.
    #[error("{path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A detector can't be used.
    #[error("{path}: {source}", path = path.display())]
    Detector {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: Box<taste_detector::Error>,
    },
    /// A monitor can't be opened.
    #[error("the monitor of {name}: {source}")]
    Monitor {
        /// The detector.
        name: String,
        /// Why.
        source: taste_monitor::Error,
    },
    /// Two detectors have one name, or a name can't be part of an address.
    #[error("{0}")]
    Name(String),
    /// Tokens that can't be read.
    #[error("{path}: line {line}: {message}", path = path.display())]
    Tokens {
        /// The file.
        path: PathBuf,
        /// Which line, from 1 on.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// An address that others can reach, without tokens.
    #[error("others can reach {address}, and there are no tokens")]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The address can't be used.
    #[error("{address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses threads or signals.
    #[error("the service can't start: {0}")]
    System(io::Error),
}

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file.
    File,
    /// A detector.
    Detector,
    /// A monitor.
    Monitor,
    /// A setting.
    Setting,
    /// Others could reach the service.
    Open,
    /// The address, or the system.
    System,
}

impl Error {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { .. } => ErrorKind::File,
            Self::Detector { .. } => ErrorKind::Detector,
            Self::Monitor { .. } => ErrorKind::Monitor,
            Self::Name(_) | Self::Tokens { .. } => ErrorKind::Setting,
            Self::Open { .. } => ErrorKind::Open,
            Self::Listen { .. } | Self::System(_) => ErrorKind::System,
        }
    }
}
