//! What a service may be told, and what it takes at most.

use std::time::Duration;

/// How a service runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The most samples that go through the engine at once.
    pub batch: usize,
    /// The most samples that wait for one detector.
    pub queue: usize,
    /// How long a request may take, unless it says less itself.
    pub timeout: Duration,
    /// How long the service goes on as before when it is told to end, so that others notice that it is not ready.
    pub drain: Duration,
    /// How long requests may take to end after that.
    pub grace: Duration,
    /// Whether `/metrics` needs no token.
    pub open_metrics: bool,
    /// Whether requests must name the service as this machine does. For services without tokens: a page of someone else
    /// in a browser on this machine could reach them by a name of its own.
    pub local_names_only: bool,
    /// What is taken at most.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            batch: 64,
            queue: 1024,
            timeout: Duration::from_secs(10),
            drain: Duration::from_secs(5),
            grace: Duration::from_secs(25),
            open_metrics: false,
            local_names_only: true,
            limits: Limits::default(),
        }
    }
}

/// What a service takes at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a body as it is sent.
    pub sent: usize,
    /// Bytes of a body after decompression.
    pub unpacked: usize,
    /// Bytes of all bodies and their tensors that are held at once.
    pub held: usize,
    /// Arrays and objects within each other, in JSON.
    pub depth: usize,
    /// Connections.
    pub connections: usize,
    /// How long the head of a request may take to arrive, from the end of the one before on.
    pub head: Duration,
    /// How long a body may take to arrive.
    pub body: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sent: 64 << 20,
            unpacked: 256 << 20,
            held: 1 << 30,
            depth: 16,
            connections: 1024,
            head: Duration::from_secs(30),
            body: Duration::from_secs(30),
        }
    }
}
