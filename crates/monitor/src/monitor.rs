//! The monitor: what is known of a stream, and its journal.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    Acknowledgement, Alarm, Baseline, Batch, Cursor, Error, Event, Message, Origin, Reason,
    Settings, View, store,
    watch::{Watch, entry::Entry},
};

/// Samples after which the state is written whole, and bytes of journal.
const SNAPSHOT_SAMPLES: u64 = 100_000;
const SNAPSHOT_BYTES: u64 = 16 << 20;

/// A stream that is watched, with a state that lasts.
///
/// One process uses a state at a time; [`Error::Locked`] otherwise. Methods that change something write a record to the
/// journal; nothing may be acknowledged to anyone before [`Self::commit`] has made it durable. Evidence is a function of
/// the records, so that a state which is opened again goes on as if nothing had happened, to the last bit.
#[derive(Debug)]
pub struct Monitor {
    folder: PathBuf,
    watch: Watch,
    journal: store::Journal,
    notes: Vec<String>,
    /// Samples when the last snapshot was written.
    saved: u64,
    /// Bytes of journal at which the next is written.
    most_bytes: u64,
    _lock: File,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The number of the record that counted it; of a duplicate, the one that did so first.
    pub sequence: u64,
    /// The number of the first sample that was counted, from 1 on; 0 for a duplicate.
    pub first: u64,
    /// Samples that were counted: all, none of a duplicate, some of rows that are known in part.
    pub counted: usize,
    /// Whether all of it had been counted before.
    pub duplicate: bool,
    /// The alarm that it raised.
    pub raised: Option<u64>,
    /// ln R behind it.
    pub log_evidence: f64,
    /// Positions in the batch that are among the worst samples now.
    pub worst: Vec<usize>,
}

/// How a state is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Go on although acknowledged records are lost.
    pub accept_loss: bool,
    /// Refuse to begin a state where there is none ([`Error::NoState`]).
    pub existing: bool,
}

impl Monitor {
    /// Opens the state in a folder, or begins one there.
    ///
    /// Refused where the model has seen the calibration samples, unless the head of the stream becomes the calibration or an
    /// optimism is tolerated ([`Error::SeenByModel`]); where the state belongs to another detector or other settings; where
    /// files are damaged. A record that was never finished is cut off, which [`Self::notes`] tell.
    pub fn open(
        folder: &Path,
        baseline: Baseline,
        settings: Settings,
        opening: Opening,
    ) -> Result<Self, Error> {
        let trusted = settings.recalibrate.is_some() || settings.tolerance.optimism < 1.0;
        if baseline.seen_by_model.is_some() && !trusted {
            return Err(Error::SeenByModel);
        }
        let identity = store::Identity::of(&baseline, &settings);
        let mut watch = Watch::new(baseline, settings)?;
        if opening.existing && !store::is_begun(folder)? {
            return Err(Error::NoState(folder.to_owned()));
        }
        let lock = store::hold(folder)?;
        identity.check(folder)?;
        let (snapshot, mut notes) = store::latest(folder)?;
        let mut from = 0;
        if let Some((number, state)) = snapshot {
            watch.restore(state)?;
            from = number;
        }
        let saved = watch.state.samples;
        let opened =
            store::Journal::open(folder, from, opening.accept_loss, |number, record, path| {
                let entry: Entry = postcard::from_bytes(record).map_err(|e| Error::Damaged {
                    path: path.to_owned(),
                    at: 0,
                    what: format!("record {number} can't be read: {e}"),
                })?;
                watch.apply(number, &entry).map(|_| ())
            })?;
        if opened.cut > 0 {
            notes.push(format!(
                "{}: the last {} bytes of the journal were of a record that was never finished, and are cut off",
                folder.display(),
                opened.cut
            ));
        }
        if opened.lost > 0 {
            let lost =
                format!("{}: {} acknowledged records are lost", folder.display(), opened.lost);
            notes.push(lost);
        }
        let folder = folder.to_owned();
        Ok(Self {
            folder,
            watch,
            journal: opened.journal,
            notes,
            saved,
            most_bytes: SNAPSHOT_BYTES,
            _lock: lock,
        })
    }

    /// What was found when the state was opened, and snapshots that could not be written, in sentences.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Counts samples, now. They are durable after the next [`Self::commit`].
    pub fn record(&mut self, batch: &Batch, origin: Origin) -> Result<Outcome, Error> {
        self.record_at(batch, origin, now())
    }

    /// Counts samples that came at a time, in milliseconds since 1970.
    pub fn record_at(
        &mut self,
        batch: &Batch,
        origin: Origin,
        time: i64,
    ) -> Result<Outcome, Error> {
        batch.check(self.watch.baseline.streams.len())?;
        let fresh = match self.fresh(batch, &origin)? {
            Ok(fresh) => fresh,
            Err(sequence) => return Ok(self.duplicate(sequence)),
        };
        let some;
        let (batch, origin) = if fresh.len() == batch.len() {
            (batch, origin)
        } else {
            some = batch.select(&fresh);
            (&some, chosen(origin, &fresh))
        };
        let entry = self.watch.entry(time, origin, batch);
        let worst = match &entry {
            Entry::Ranks(_, ranked) => ranked.worst.iter().map(|(i, _)| fresh[*i]).collect(),
            _ => Vec::new(),
        };
        let first = self.watch.state.samples + 1;
        let (sequence, raised) = self.add(&entry)?;
        Ok(Outcome {
            sequence,
            first,
            counted: batch.len(),
            duplicate: false,
            raised,
            log_evidence: self.watch.log_evidence(),
            worst,
        })
    }

    /// Positions of samples that are not counted yet, or the record that counted the last of them.
    fn fresh(&self, batch: &Batch, origin: &Origin) -> Result<Result<Vec<usize>, u64>, Error> {
        let seen = &self.watch.state.seen;
        let all = 0..batch.len();
        let (fresh, last): (Vec<usize>, Option<u64>) = match origin {
            Origin::Unnamed { .. } => (all.collect(), None),
            Origin::Request { id } => match seen.request(id) {
                Some(sequence) => (Vec::new(), Some(sequence)),
                None => return Ok(Ok(all.collect())),
            },
            Origin::Rows { file, first, grown_from } => {
                let counted = seen.rows(file, *grown_from);
                if *first > counted {
                    return Err(Error::Gap { name: file.name.clone(), counted, first: *first });
                }
                let last = seen.cursor(&file.name).map(|c| c.sequence);
                (all.filter(|i| first + *i as u64 >= counted).collect(), last)
            }
            Origin::Files { files } => {
                batch.matches(files.len())?;
                let known = |i: &usize| seen.rows(&files[*i], None) > 0;
                let last = files.iter().filter_map(|f| seen.cursor(&f.name)).map(|c| c.sequence);
                (all.filter(|i| !known(i)).collect(), last.max())
            }
            Origin::Each { ids, .. } => {
                batch.matches(ids.len())?;
                let mut own = std::collections::HashSet::new();
                let mut is_new =
                    |i: &usize| seen.request(&ids[*i]).is_none() && own.insert(&ids[*i]);
                let last = ids.iter().filter_map(|id| seen.request(id)).max();
                (all.filter(|i| is_new(i)).collect(), last)
            }
        };
        Ok(match last {
            Some(sequence) if fresh.is_empty() => Err(sequence),
            _ => Ok(fresh),
        })
    }

    fn duplicate(&self, sequence: u64) -> Outcome {
        Outcome {
            sequence,
            first: 0,
            counted: 0,
            duplicate: true,
            raised: None,
            log_evidence: self.watch.log_evidence(),
            worst: Vec::new(),
        }
    }

    /// Writes a record and takes it: the number of the record, and of an alarm that it raised.
    fn add(&mut self, entry: &Entry) -> Result<(u64, Option<u64>), Error> {
        let bytes = postcard::to_stdvec(entry)
            .map_err(|e| Error::File { path: self.folder.clone(), what: e.to_string() })?;
        let sequence = self.journal.append(&bytes)?;
        let applied = self.watch.apply(sequence, entry)?;
        Ok((sequence, applied.raised))
    }

    /// Makes everything so far durable, and returns the number of the last record. After an error nothing is acknowledged any
    /// more, and every call says so, until the state is opened again: what a failed write left behind is not known.
    pub fn commit(&mut self) -> Result<u64, Error> {
        let number = self.journal.commit()?;
        let samples = self.watch.state.samples;
        let due =
            samples - self.saved >= SNAPSHOT_SAMPLES || self.journal.bytes() >= self.most_bytes;
        if due && let Err(error) = self.snapshot() {
            // The journal holds everything, so nothing is lost; it is tried again later.
            self.notes.push(format!("a snapshot could not be written: {error}"));
            self.saved = samples;
            self.most_bytes = self.journal.bytes() + SNAPSHOT_BYTES;
        }
        Ok(number)
    }

    /// Writes the state whole, so that the journal before it can go.
    pub fn snapshot(&mut self) -> Result<(), Error> {
        let number = self.journal.commit()?;
        store::save(&self.folder, number, &self.watch.state)?;
        self.journal.rotate()?;
        let oldest = store::tidy(&self.folder)?;
        self.journal.forget(oldest)?;
        self.saved = self.watch.state.samples;
        self.most_bytes = SNAPSHOT_BYTES;
        Ok(())
    }

    /// Why nothing is acknowledged any more, if that is so.
    pub fn stopped(&self) -> Option<&str> {
        self.journal.stopped()
    }

    /// The number of the last durable record.
    pub fn durable(&self) -> u64 {
        self.journal.durable()
    }

    /// How far a file of this name has been counted, whatever it held then.
    pub fn cursor(&self, name: &str) -> Option<Cursor> {
        self.watch.state.seen.cursor(name)
    }

    /// The record that counted a request, if it is known.
    pub fn request(&self, id: &str) -> Option<u64> {
        self.watch.state.seen.request(id)
    }

    /// The alarm that stands, if one does.
    pub fn standing(&self) -> Option<&Alarm> {
        self.watch.state.alarms.standing()
    }

    /// An alarm by its number.
    pub fn alarm(&self, id: u64) -> Option<&Alarm> {
        self.watch.state.alarms.list().iter().find(|a| a.id == id)
    }

    /// Notes that somebody knows of an alarm.
    pub fn acknowledge(&mut self, alarm: u64, by: &str, note: &str) -> Result<(), Error> {
        self.known(alarm)?;
        let by = Acknowledgement { time: now(), by: by.to_owned(), note: note.to_owned() };
        self.add(&Entry::Acknowledged { alarm, by })?;
        self.commit().map(|_| ())
    }

    /// Resolves what stands and begins evidence anew; that over the whole life goes on.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.add(&Entry::Restarted { time: now() })?;
        self.commit().map(|_| ())
    }

    /// Notes what the samples behind an alarm differ in.
    pub fn explain(&mut self, alarm: u64, reasons: Vec<Reason>) -> Result<(), Error> {
        if self.alarm(alarm).is_none() {
            return Err(Error::NoAlarm(alarm));
        }
        self.add(&Entry::Explained { alarm, reasons })?;
        self.commit().map(|_| ())
    }

    fn known(&self, alarm: u64) -> Result<(), Error> {
        let stands = self.alarm(alarm).is_some_and(Alarm::stands);
        if stands { Ok(()) } else { Err(Error::NoAlarm(alarm)) }
    }

    /// Durable messages that wait to be sent, the oldest first, with the alarm that each is about.
    pub fn outbox(&self) -> Vec<(Message, Alarm)> {
        let durable = self.journal.durable();
        let messages = self.watch.state.alarms.outbox().iter().filter(|m| m.sequence <= durable);
        let with = messages.filter_map(|m| Some((m.clone(), self.alarm(m.alarm)?.clone())));
        with.collect()
    }

    /// Notes that a message reached whom it was for: it is not sent again. If the process ends between the two, it is.
    pub fn delivered(&mut self, alarm: u64, event: Event) -> Result<(), Error> {
        self.add(&Entry::Delivered { alarm, event })?;
        self.commit().map(|_| ())
    }

    /// All that a page shows.
    pub fn view(&self) -> View {
        View::of(&self.watch, self.journal.last(), self.journal.stopped())
    }

    /// ln R, and what it is at an alarm.
    pub fn log_evidence(&self) -> (f64, f64) {
        (self.watch.log_evidence(), self.watch.log_threshold())
    }

    /// The SHA-256 of the detector's file.
    pub fn detector(&self) -> &str {
        &self.watch.baseline.detector
    }

    /// Samples that came so far.
    pub fn samples(&self) -> u64 {
        self.watch.state.samples
    }
}

/// Where the samples at some positions came from. Of rows these are the last.
fn chosen(origin: Origin, positions: &[usize]) -> Origin {
    match origin {
        Origin::Files { files } => {
            Origin::Files { files: positions.iter().map(|&i| files[i].clone()).collect() }
        }
        Origin::Each { name, ids } => {
            Origin::Each { name, ids: positions.iter().map(|&i| ids[i].clone()).collect() }
        }
        other => other.skip(positions.first().copied().unwrap_or(0)),
    }
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
