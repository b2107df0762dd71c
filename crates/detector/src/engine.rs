use taste_engine::Backend;

/// What runs graphs: a backend and a number of threads.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The backend.
    pub backend: Backend,
    /// How many threads it uses.
    pub threads: usize,
}

impl Default for Engine {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { backend: Backend::default(), threads }
    }
}
