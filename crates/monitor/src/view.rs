//! All that a page or a terminal shows of a monitor.

use serde::Serialize;
use taste_stats::binomial;

use crate::{
    Alarm, Correlation, Independence, Kind, Moment, Point, Settings, Span, Standing, Worst,
    sequential::{Bets, Evidence},
    watch::{BINS, Watch},
};

/// What a monitor knows. All logarithms are natural, and null in JSON where there is no evidence yet (−∞).
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// The SHA-256 of the detector's file.
    pub detector: String,
    /// What it promises and overlooks.
    pub settings: Settings,
    /// In a word.
    pub status: Status,
    /// Why nothing is acknowledged any more, if that is so.
    pub stopped: Option<String>,
    /// The number of the last record.
    pub sequence: u64,
    /// Samples that came so far.
    pub samples: u64,
    /// When the first and the last came, in milliseconds since 1970.
    pub first_time: Option<i64>,
    /// See `first_time`.
    pub last_time: Option<i64>,
    /// Where evidence began anew by hand.
    pub restarted: Moment,
    /// While the head of the stream becomes the calibration: samples that are there, and that are needed.
    pub gathering: Option<(usize, usize)>,
    /// ln R: without a change a stream reaches R no sooner than every R samples on average.
    pub log_evidence: f64,
    /// ln A, at which an alarm is raised.
    pub log_threshold: f64,
    /// A p-value of "nothing has ever changed" that holds at any time.
    pub lifetime_p_value: f64,
    /// When that fell to the α of the lifetime test, if it did; for ever.
    pub lifetime_alarm: Option<Moment>,
    /// What is watched.
    pub streams: Vec<StreamView>,
    /// Evidence over the whole life, at most 2000 points.
    pub series: Vec<Point>,
    /// All alarms, the first first.
    pub alarms: Vec<Alarm>,
    /// How many there were, those that are no longer kept included.
    pub alarms_raised: u64,
    /// Samples that the detector flagged by themselves.
    pub flagged: Flagged,
    /// Samples without a finite score.
    pub not_finite: u64,
    /// The last ten minutes by second; spans without samples are left out.
    pub seconds: Vec<Span>,
    /// The last day by minute.
    pub minutes: Vec<Span>,
    /// The last three months by hour.
    pub hours: Vec<Span>,
    /// The samples that are furthest out since the last restart, the worst first.
    pub worst: Vec<Worst>,
    /// How much neighbours depend on each other; none before 256 samples.
    pub correlation: Option<Correlation>,
    /// What is guaranteed, in two sentences, and what speaks against it.
    pub guarantee: Vec<String>,
}

/// A monitor in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The head of the stream is being gathered.
    Gathering,
    /// No alarm stands.
    Quiet,
    /// An alarm stands that nobody has looked at.
    Alarm,
    /// An alarm stands that somebody knows of.
    Acknowledged,
    /// Nothing is acknowledged any more.
    Stopped,
}

/// One stream of values.
#[derive(Clone, Debug, Serialize)]
pub struct StreamView {
    /// What it says.
    pub kind: Kind,
    /// Whether it raises alarms.
    pub counts: bool,
    /// Calibration values.
    pub calibrated: usize,
    /// ln R of this stream alone.
    pub log_evidence: f64,
    /// The shift that the bet with the most evidence is made for, in standard deviations; none for the one that waits for a
    /// few extreme samples.
    pub leading_shift: Option<f64>,
    /// The smallest shift in standard deviations that evidence can grow from.
    pub smallest_visible: f64,
    /// Where p-values fell since the last restart: twenty bins of equal width from 0 to 1, flat without a shift.
    pub p_values: [u64; BINS],
    /// The same of the last thousand samples.
    pub p_values_window: [u64; BINS],
    /// Calibration quantiles at which those bins end, from p = 0 (the largest) to p = 1.
    pub edges: Vec<f64>,
}

/// Samples that were flagged by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Flagged {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub samples: u64,
    /// Their share; 0 if there are no samples.
    pub share: f64,
    /// A 95 % interval for it.
    pub interval: Option<(f64, f64)>,
    /// What it is without a shift.
    pub alpha: Option<f64>,
}

impl View {
    pub(crate) fn of(watch: &Watch, sequence: u64, stopped: Option<&str>) -> Self {
        let state = &watch.state;
        let [seconds, minutes, hours] = state.rings.spans();
        let standing = state.alarms.standing().map(|a| a.standing);
        let status = match (stopped, watch.gathering(), standing) {
            (Some(_), ..) => Status::Stopped,
            (_, Some(_), _) => Status::Gathering,
            (_, _, Some(Standing::Firing)) => Status::Alarm,
            (_, _, Some(_)) => Status::Acknowledged,
            _ => Status::Quiet,
        };
        let correlation = state.dependence.correlation();
        Self {
            detector: watch.baseline.detector.clone(),
            settings: watch.settings.clone(),
            status,
            stopped: stopped.map(str::to_owned),
            sequence,
            samples: state.samples,
            first_time: state.first,
            last_time: state.first.map(|_| state.last),
            restarted: state.restarted,
            gathering: watch.gathering(),
            log_evidence: watch.log_evidence(),
            log_threshold: watch.log_threshold(),
            lifetime_p_value: libm::exp(-state.lifetime_peak).min(1.0),
            lifetime_alarm: state.lifetime_alarm,
            streams: streams(watch),
            series: state.series.points().to_vec(),
            alarms: state.alarms.list().to_vec(),
            alarms_raised: state.alarms.raised(),
            flagged: flagged(state.flagged, state.samples, watch.baseline.alpha),
            not_finite: state.not_finite,
            seconds,
            minutes,
            hours,
            worst: state.worst.list().to_vec(),
            correlation,
            guarantee: guarantee(watch, correlation),
        }
    }

    /// The alarm that stands, if one does.
    pub fn standing(&self) -> Option<&Alarm> {
        self.alarms.last().filter(|a| a.stands())
    }
}

fn flagged(count: u64, samples: u64, alpha: Option<f64>) -> Flagged {
    let interval = binomial::clopper_pearson(count, samples, 0.95).ok().map(|i| (i.low, i.high));
    Flagged { count, samples, share: count as f64 / samples.max(1) as f64, interval, alpha }
}

fn streams(watch: &Watch) -> Vec<StreamView> {
    let state = &watch.state;
    let all = watch.baseline.streams.iter().zip(&state.spread).enumerate();
    all.map(|(i, (stream, spread))| {
        let (bets, evidence) = (watch.bets.get(i), state.evidence.get(i));
        let scores = if bets.is_some() { stream.calibration.scores() } else { &[] };
        let edge = |bin: usize| {
            let place = (scores.len() * (BINS - bin)).div_ceil(BINS).saturating_sub(1);
            scores.get(place).copied()
        };
        StreamView {
            kind: stream.kind,
            counts: stream.counts,
            calibrated: scores.len(),
            log_evidence: evidence.map_or(f64::NEG_INFINITY, Evidence::log),
            leading_shift: bets.zip(evidence).and_then(|(b, e)| b.shift(e.leading())),
            smallest_visible: bets.map_or(f64::INFINITY, Bets::smallest_visible),
            p_values: spread.all,
            p_values_window: spread.window(),
            edges: (0..=BINS).filter_map(edge).collect(),
        }
    })
    .collect()
}

fn guarantee(watch: &Watch, correlation: Option<Correlation>) -> Vec<String> {
    let Settings { run_length, delta, .. } = &watch.settings;
    if let Some((have, wanted)) = watch.gathering() {
        return vec![format!(
            "The first {wanted} samples become the calibration, and {have} have come; nothing is watched before."
        )];
    }
    let n = watch.baseline.streams.iter().map(|s| s.calibration.scores().len()).min().unwrap_or(0);
    let mut said = Vec::new();
    let verdict = correlation.map_or(Independence::Fine, |c| c.verdict);
    let correlated = correlation.map_or(0.0, |c| c.value);
    if verdict == Independence::Broken {
        said.push(format!(
            "Neighbouring samples are alike (correlation {correlated:.2}): no false-alarm rate holds for such a stream."
        ));
        return said;
    }
    said.push(format!(
        "With probability {} over calibration sets, a stream of independent samples without a change raises an alarm no \
         sooner than every {run_length} samples on average, and within t samples with a chance of at most t/{run_length}.",
        1.0 - delta
    ));
    let visible = watch.bets.iter().map(Bets::smallest_visible);
    let visible = visible.fold(f64::INFINITY, f64::min);
    said.push(format!(
        "With {n} calibration samples, shifts of less than {visible:.2} standard deviations can't be seen, nor can a \
         change that leaves the distribution of scores as it was."
    ));
    if verdict == Independence::Doubtful {
        said.push(format!(
            "Neighbouring samples are somewhat alike (correlation {correlated:.2}): alarms may come sooner than promised."
        ));
    }
    said
}
