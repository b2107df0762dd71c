//! The log of a service, written by a thread of its own: a reader who stalls holds up no answer, and loses lines.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tracing::level_filters::LevelFilter;

use crate::args::LogFormat;

/// Bytes of lines that may wait for their reader.
const MOST: usize = 1 << 20;
/// How long the end waits for the reader of the last lines.
const LAST: Duration = Duration::from_secs(1);

/// Starts the log on standard error. It ends with the value that is returned.
pub(crate) fn start(format: LogFormat, requests: bool, quiet: bool) -> io::Result<Log> {
    let level = match (requests, quiet) {
        (true, _) => LevelFilter::DEBUG,
        (false, true) => LevelFilter::WARN,
        (false, false) => LevelFilter::INFO,
    };
    let log = Log::start(io::stderr(), |lines| {
        tracing::warn!(lines, "left out of the log, as nobody read it");
    })?;
    let waiting = log.waiting.clone();
    let lines = tracing_subscriber::fmt()
        .with_writer(move || waiting.clone())
        .with_max_level(level)
        .with_target(false)
        .with_ansi(false);
    // A program that brings a log of its own keeps it.
    let _ = match format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    Ok(log)
}

/// Writes lines that wait. Its end waits for the last of them, but not for a reader who stalls.
pub(crate) struct Log {
    waiting: Waiting,
}

/// Lines that wait to be written.
#[derive(Clone, Default)]
struct Waiting {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Lines that found no room, and that no line has told of yet.
    lost: u64,
    /// Whether a line is being written.
    writing: bool,
}

impl State {
    fn is_written(&self) -> bool {
        self.lines.is_empty() && self.lost == 0 && !self.writing
    }
}

impl Log {
    fn start(
        mut out: impl Write + Send + 'static,
        tell_lost: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        let waiting = Waiting::default();
        let own = waiting.clone();
        thread::Builder::new().name("log".to_owned()).spawn(move || {
            loop {
                match own.next() {
                    // A reader who has gone away misses nothing.
                    Next::Line(line) => drop(out.write_all(&line)),
                    Next::Lost(lines) => tell_lost(lines),
                }
            }
        })?;
        Ok(Self { waiting })
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let (_, changed) = &*self.waiting.shared;
        let state = self.waiting.lock();
        drop(changed.wait_timeout_while(state, LAST, |state| !state.is_written()));
    }
}

/// What the thread of the log does next.
enum Next {
    Line(Vec<u8>),
    /// So many lines found no room, and all that did are written.
    Lost(u64),
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Next {
        let changed = &self.shared.1;
        let mut state = self.lock();
        state.writing = false;
        loop {
            if let Some(line) = state.lines.pop_front() {
                state.bytes -= line.len();
                state.writing = true;
                return Next::Line(line);
            }
            if state.lost > 0 {
                state.writing = true;
                return Next::Lost(std::mem::take(&mut state.lost));
            }
            changed.notify_all();
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Write for Waiting {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.lock();
        if state.bytes + line.len() <= MOST {
            state.bytes += line.len();
            state.lines.push_back(line.to_vec());
        } else {
            state.lost += 1;
        }
        drop(state);
        self.shared.1.notify_all();
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Instant};

    use super::*;

    /// Writes to memory, once it may.
    struct Reader {
        may: mpsc::Receiver<()>,
        read: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Fails once the sender is gone, from when on everything is read.
            let _ = self.may.recv();
            self.read.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A log, what lets its reader go on, and what was read.
    fn log() -> (Log, mpsc::Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let (go, may) = mpsc::channel();
        let read = Arc::default();
        let (lost, told) = mpsc::channel();
        let log =
            Log::start(Reader { may, read: Arc::clone(&read) }, move |n| lost.send(n).unwrap());
        let log = log.unwrap();
        let mut lines = log.waiting.clone();
        thread::spawn(move || told.iter().for_each(|n| writeln!(lines, "{n} lost").unwrap()));
        (log, go, read)
    }

    #[test]
    fn all_lines_are_written_in_order_before_the_log_ends() {
        let (log, go, read) = log();
        drop(go);
        let mut lines = log.waiting.clone();
        let wanted: Vec<String> = (0..20_000).map(|i| format!("line {i}")).collect();
        for line in &wanted {
            lines.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
        drop(log);
        let text = String::from_utf8(read.lock().unwrap().clone()).unwrap();
        assert!(text.lines().eq(&wanted));
    }

    #[test]
    fn a_reader_who_stalls_holds_nobody_up_and_is_told_what_is_missing() {
        let (log, go, read) = log();
        let mut lines = log.waiting.clone();
        let line = [vec![b'x'; (1 << 16) - 1], vec![b'\n']].concat();
        for _ in 0..100 {
            assert_eq!(lines.write(&line).unwrap(), line.len());
        }
        assert!(lines.lock().bytes <= MOST);
        let begin = Instant::now();
        drop(log);
        assert!(begin.elapsed() < 3 * LAST, "{:?}", begin.elapsed());
        drop(go);
        let begin = Instant::now();
        let text = loop {
            let text = String::from_utf8(read.lock().unwrap().clone()).unwrap();
            if text.ends_with(" lost\n") || begin.elapsed() > Duration::from_secs(20) {
                break text;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let written = text.lines().filter(|line| line.starts_with('x')).count();
        assert!((16..=17).contains(&written), "{written}");
        assert_eq!(text.lines().last(), Some(&*format!("{} lost", 100 - written)));
    }
}
