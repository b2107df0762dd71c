//! Samples that wait for a detector. One thread scores what waits, as much at once as a batch holds: under load batches
//! grow by themselves, and a lone sample waits for nobody.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use ndarray::{ArrayD, Axis, Slice};
use taste_detector::Scores;
use tokio::sync::oneshot;

use crate::{
    held::Held,
    metrics::DetectorMetrics,
    model::Model,
    record::{Recorder, Sequence},
    refusal::Refusal,
};

/// Samples of one request.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) samples: ArrayD<f32>,
    /// Whether maps are asked for.
    pub(crate) map: bool,
    pub(crate) deadline: Instant,
    /// What tells a repetition from a new request, if its samples count for the monitor.
    pub(crate) counted: Option<RequestKey>,
    /// The memory of the request, held until it is answered.
    pub(crate) held: Held,
}

/// What a request is known by; none if its sender has given it no name.
pub(crate) type RequestKey = Option<String>;

/// What a request is answered with.
#[derive(Debug)]
pub(crate) struct Scored {
    pub(crate) scores: Scores,
    /// What the monitor made of it, if it counts.
    pub(crate) sequence: Option<Sequence>,
}

/// Where the answer goes.
pub(crate) type Reply = oneshot::Sender<Result<Scored, Refusal>>;

#[derive(Debug)]
struct Waiting {
    job: Job,
    reply: Reply,
    since: Instant,
}

/// The queue of a detector.
#[derive(Debug)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
    limit: usize,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Samples that wait.
    samples: usize,
    /// Samples that are scored now.
    running: usize,
    /// Seconds a sample, lately.
    pace: f64,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Starts the thread that scores.
    pub(crate) fn start(
        model: Arc<Model>,
        metrics: Arc<DetectorMetrics>,
        recorder: Option<Recorder>,
        limit: usize,
        batch: usize,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), arrived: Condvar::new() });
        let batch = batch.min(model.detector.manifest().model.chunk).max(1);
        let worker = Worker { shared: Arc::clone(&shared), model, metrics, recorder, batch };
        let name = format!("score {}", worker.model.name);
        thread::Builder::new().name(name).spawn(move || worker.run())?;
        Ok(Self { shared, limit })
    }

    /// How many samples wait.
    pub(crate) fn samples(&self) -> usize {
        self.shared.lock().samples
    }

    /// Puts samples in line, unless there is no room or they would come too late.
    pub(crate) fn push(
        &self,
        job: Job,
    ) -> Result<oneshot::Receiver<Result<Scored, Refusal>>, Refusal> {
        let rows = job.samples.shape()[0];
        if rows > self.limit {
            return Err(Refusal::too_large(format!(
                "{rows} samples in one request, and at most {} may wait: send fewer at once",
                self.limit
            )));
        }
        let now = Instant::now();
        let mut state = self.shared.lock();
        if state.closed {
            return Err(Refusal::busy("the service is about to end", 1));
        }
        let wait = state.pace * (state.samples + state.running + rows) as f64;
        let retry = whole_seconds(state.pace * state.samples as f64);
        if state.samples + rows > self.limit {
            let message = format!("{} samples wait, which is all that may", state.samples);
            return Err(Refusal::busy(message, retry));
        }
        let left = job.deadline.saturating_duration_since(now);
        if state.samples > 0 && Duration::try_from_secs_f64(wait).is_ok_and(|wait| wait > left) {
            let message = format!("{} samples wait, too many for the deadline", state.samples);
            return Err(Refusal::busy(message, retry));
        }
        let (reply, receiver) = oneshot::channel();
        state.samples += rows;
        state.waiting.push_back(Waiting { job, reply, since: now });
        drop(state);
        self.shared.arrived.notify_one();
        Ok(receiver)
    }

    /// Takes no more samples; what waits is scored.
    pub(crate) fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.arrived.notify_one();
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few seconds")]
fn whole_seconds(seconds: f64) -> u64 {
    seconds.ceil().clamp(1.0, 60.0) as u64
}

struct Worker {
    shared: Arc<Shared>,
    model: Arc<Model>,
    metrics: Arc<DetectorMetrics>,
    recorder: Option<Recorder>,
    batch: usize,
}

impl Worker {
    fn run(self) {
        while let Some(jobs) = self.next() {
            self.score(jobs);
            self.shared.lock().running = 0;
        }
    }

    /// What waits, as much as a batch holds; nothing when the queue is closed and empty.
    fn next(&self) -> Option<Vec<Waiting>> {
        let mut state = self.shared.lock();
        let mut taken: Vec<Waiting> = Vec::new();
        loop {
            let mut rows = 0;
            while let Some(first) = state.waiting.front() {
                let more = first.job.samples.shape()[0];
                // Maps are computed by another session, and a request may be larger than a batch.
                let fits = taken
                    .first()
                    .is_none_or(|t| rows + more <= self.batch && t.job.map == first.job.map);
                if !fits {
                    break;
                }
                let Some(waiting) = state.waiting.pop_front() else { break };
                state.samples -= more;
                if let Some(waiting) = self.still_wanted(waiting) {
                    rows += more;
                    taken.push(waiting);
                }
            }
            if !taken.is_empty() {
                state.running = rows;
                return Some(taken);
            }
            if state.closed {
                return None;
            }
            state = self.shared.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops what nobody waits for any more, or what is too late.
    fn still_wanted(&self, waiting: Waiting) -> Option<Waiting> {
        if waiting.reply.is_closed() {
            self.metrics.dropped.add(waiting.job.samples.shape()[0] as u64);
            return None;
        }
        if waiting.job.deadline <= Instant::now() {
            let _ = waiting.reply.send(Err(Refusal::late()));
            return None;
        }
        self.metrics.queue_seconds.observe(waiting.since.elapsed().as_secs_f64());
        Some(waiting)
    }

    fn score(&self, jobs: Vec<Waiting>) {
        let map = jobs.first().is_some_and(|w| w.job.map);
        if let [one] = &jobs[..] {
            let result = self.parts(one, map);
            if let Some(waiting) = jobs.into_iter().next() {
                self.finish(waiting, result);
            }
            return;
        }
        let views: Vec<_> = jobs.iter().map(|w| w.job.samples.view()).collect();
        let joined = ndarray::concatenate(Axis(0), &views).map_err(|e| e.to_string());
        let result = joined.and_then(|all| self.timed(&all, map));
        let mut start = 0;
        for waiting in jobs {
            let end = start + waiting.job.samples.shape()[0];
            let own = result.as_ref().map(|scores| scores.rows(start, end));
            self.finish(waiting, own.map_err(|e| Refusal::failed(e.clone())));
            start = end;
        }
    }

    /// The samples of one request, in batches, as long as somebody waits for them.
    fn parts(&self, waiting: &Waiting, map: bool) -> Result<Scores, Refusal> {
        let samples = &waiting.job.samples;
        let rows = samples.shape()[0];
        if rows <= self.batch {
            return self.timed(samples, map).map_err(Refusal::failed);
        }
        let mut parts = Vec::with_capacity(rows.div_ceil(self.batch));
        for start in (0..rows).step_by(self.batch) {
            if waiting.reply.is_closed() || waiting.job.deadline <= Instant::now() {
                self.metrics.dropped.add((rows - start) as u64);
                return Err(Refusal::late());
            }
            let part =
                samples.slice_axis(Axis(0), Slice::from(start..rows.min(start + self.batch)));
            parts.push(self.timed(&part.to_owned(), map).map_err(Refusal::failed)?);
        }
        Ok(joined(parts))
    }

    /// Scores samples and keeps the pace.
    fn timed(&self, samples: &ArrayD<f32>, map: bool) -> Result<Scores, String> {
        let (start, rows) = (Instant::now(), samples.shape()[0]);
        let scored = catch_unwind(AssertUnwindSafe(|| self.model.score(samples.view(), map)));
        let seconds = start.elapsed().as_secs_f64();
        self.metrics.batch_samples.observe(rows as f64);
        self.metrics.scoring_seconds.observe(seconds);
        let each = seconds / rows.max(1) as f64;
        let mut state = self.shared.lock();
        state.pace = if state.pace > 0.0 { 0.8 * state.pace + 0.2 * each } else { each };
        drop(state);
        scored.unwrap_or_else(|_| Err("scoring failed; the log says why".to_owned()))
    }

    /// Counts and answers, by way of the monitor where samples count for it.
    fn finish(&self, waiting: Waiting, result: Result<Scores, Refusal>) {
        let Waiting { job, reply, .. } = waiting;
        match result {
            Err(refusal) => drop(reply.send(Err(refusal))),
            Ok(scores) => {
                self.metrics.count(&scores);
                match (&self.recorder, job.counted) {
                    (Some(recorder), Some(key)) => {
                        recorder.take(key, scores, job.samples, reply, job.held);
                    }
                    _ => drop(reply.send(Ok(Scored { scores, sequence: None }))),
                }
            }
        }
    }
}

/// Scores of samples one after the other.
fn joined(parts: Vec<Scores>) -> Scores {
    let mut parts = parts.into_iter();
    let Some(mut all) = parts.next() else { unreachable!("there are no requests without samples") };
    for part in parts {
        all.score.extend(part.score);
        all.p_value.extend(part.p_value);
        all.flag.extend(part.flag);
        if let (Some(all), Some(part)) = (&mut all.novelty, part.novelty) {
            all.score.extend(part.score);
            all.p_value.extend(part.p_value);
        }
        for ((_, all), (_, part)) in all.parts.iter_mut().zip(part.parts) {
            all.append(Axis(0), part.view()).expect("parts of one width");
        }
        if let (Some(all), Some(part)) = (&mut all.map, part.map) {
            all.append(Axis(0), part.view()).expect("maps of one shape");
        }
        if let (Some(all), Some(part)) = (&mut all.prediction, part.prediction) {
            all.append(Axis(0), part.view()).expect("answers of one width");
        }
    }
    all
}
