//! Samples on standard input, as they come: CSV with or without a header, or JSON lines.

use std::{
    io::{self, BufRead, Write},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Result, anyhow};
use taste_data::Samples;
use taste_monitor::Origin;

use super::Session;
use crate::{detect::tell_skipped, table::count};

/// Lines that wait this long are taken together with those before.
const PATIENCE: Duration = Duration::from_millis(200);
const NAME: &str = "standard input";

/// Counts all lines up to the end.
pub(super) fn take(session: &mut Session<'_>) -> Result<()> {
    let chunk = session.detection.chunk();
    let (send, lines) = mpsc::sync_channel::<io::Result<String>>(2 * chunk);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let mut lot = Lot::default();
    loop {
        let line = match lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                session.idle()?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        // What waits is taken together.
        lot.add(line.map_err(|e| anyhow!("{NAME}: {e}"))?);
        while lot.waiting.len() < chunk
            && let Ok(line) = lines.try_recv()
        {
            lot.add(line.map_err(|e| anyhow!("{NAME}: {e}"))?);
        }
        lot.flush(session)?;
    }
}

/// Lines that wait.
#[derive(Default)]
struct Lot {
    /// Whether they are JSON, once there was one.
    is_json: Option<bool>,
    header: Option<String>,
    waiting: Vec<String>,
    /// Lines before them, without the header.
    first: u64,
}

/// Whether a line of CSV names columns: an entry is no number.
fn is_header(line: &str) -> bool {
    let number = |entry: &str| {
        let entry = entry.trim().trim_matches('"');
        entry.is_empty() || entry.parse::<f64>().is_ok()
    };
    !line.split(',').all(number)
}

impl Lot {
    fn add(&mut self, line: String) {
        if line.trim().is_empty() {
            return;
        }
        let is_first = self.is_json.is_none();
        let is_json =
            *self.is_json.get_or_insert_with(|| line.trim_start().starts_with(['{', '[']));
        if is_first && !is_json && is_header(&line) {
            self.header = Some(line);
        } else {
            self.waiting.push(line);
        }
    }

    /// Scores and counts the lines that wait, read as a file of them would be.
    fn flush(&mut self, session: &mut Session<'_>) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let ending = if self.is_json == Some(true) { ".jsonl" } else { ".csv" };
        let wrong = |e: io::Error| anyhow!("{NAME}: {e}");
        let mut file = tempfile::Builder::new().suffix(ending).tempfile().map_err(wrong)?;
        for line in self.header.iter().chain(&self.waiting) {
            writeln!(file, "{line}").map_err(wrong)?;
        }
        file.flush().map_err(wrong)?;
        let keep: Vec<String> = session.args.key.iter().cloned().collect();
        let data = session
            .detection
            .open_keeping(&[file.path().to_owned()], &keep)
            .map_err(|e| in_stream(&e, file.path(), self.first))?;
        for chunk in data.chunks(session.detection.chunk())? {
            let chunk = chunk.map_err(|e| in_stream(&e.into(), file.path(), self.first))?;
            let origin = if let Some(ids) = chunk.kept.first() {
                Origin::Each { name: NAME.to_owned(), ids: ids.clone() }
            } else {
                let start = chunk.index.first().map_or(0, |&i| data.place(i)) as u64;
                Origin::Unnamed { name: NAME.to_owned(), first: self.first + start }
            };
            session.take(chunk.values, Vec::new(), origin)?;
        }
        if !session.args.with.run.quiet() {
            tell_skipped(&data);
        }
        self.first += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }
}

/// An error about a file of waiting lines, in the words of standard input.
fn in_stream(error: &anyhow::Error, path: &std::path::Path, first: u64) -> anyhow::Error {
    let text = error.to_string().replace(&path.display().to_string(), NAME);
    match first {
        0 => anyhow!("{text}"),
        before => anyhow!(
            "{text} (behind {})",
            count(usize::try_from(before).unwrap_or(usize::MAX), "sample")
        ),
    }
}
