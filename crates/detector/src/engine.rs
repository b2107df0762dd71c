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
        let threads = taste_threads::count(None);
        Self { backend: Backend::default(), threads }
    }
}
