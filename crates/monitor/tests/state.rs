//! A state that lasts: replay is bit-exact, nothing counts twice, damage is told.

use std::{fs, path::Path};

use taste_monitor::{
    Baseline, Batch, Error, ErrorKind, Event, FileId, Kind, Monitor, Opening, Origin, Settings,
    Standing, Status, Stream, Why,
};
use taste_stats::random::Random;

const DAY: i64 = 1_700_000_000_000;

fn baseline(seed: u64) -> Baseline {
    let mut random = Random::new(seed);
    let mut normal = |n: usize| (0..n).map(|_| random.normal()).collect::<Vec<f64>>();
    let harm = Stream::new(Kind::Harm, normal(1000));
    let novelty = Stream { counts: false, ..Stream::new(Kind::Novelty, normal(800)) };
    let residual = Stream::new(Kind::Residual, normal(500));
    Baseline::new(format!("detector {seed}"), vec![harm, novelty, residual])
}

fn open(folder: &Path) -> Monitor {
    Monitor::open(folder, baseline(1), Settings::default(), Opening::default()).expect("a state")
}

fn refusal(folder: &Path) -> Error {
    Monitor::open(folder, baseline(1), Settings::default(), Opening::default())
        .expect_err("refused")
}

/// Batches of uneven sizes, the harm of which moves behind a sample.
fn batches(count: usize, moves_at: usize, shift: f64) -> Vec<Batch> {
    let mut random = Random::new(99);
    let mut came = 0;
    (0..count)
        .map(|i| {
            let size = 1 + i % 7;
            let mut batch = Batch { values: vec![Vec::new(); 3], ..Batch::default() };
            for _ in 0..size {
                came += 1;
                let moved = if came > moves_at { shift } else { 0.0 };
                let values = [random.normal() + moved, random.normal(), random.normal()];
                batch.values.iter_mut().zip(values).for_each(|(list, v)| list.push(v));
                batch.flags.push(values[0] > 1.6);
            }
            batch
        })
        .collect()
}

fn request(i: usize) -> Origin {
    Origin::Request { id: format!("request {i}") }
}

/// Everything that evidence consists of, as bits.
fn evidence(monitor: &Monitor) -> String {
    let mut view = monitor.view();
    view.stopped = None;
    let bits: Vec<u64> = view.streams.iter().map(|s| s.log_evidence.to_bits()).collect();
    format!(
        "{} {bits:?} {}",
        view.log_evidence.to_bits(),
        serde_json::to_string(&view).expect("JSON")
    )
}

#[test]
fn a_state_that_is_opened_again_and_again_is_that_of_an_undisturbed_run() {
    let [plain, torn] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let all = batches(600, 1500, 1.0);
    let mut undisturbed = open(plain.path());
    for (i, batch) in all.iter().enumerate() {
        undisturbed.record_at(batch, request(i), DAY + i as i64 * 1000).expect("a record");
    }
    undisturbed.commit().expect("durable");
    let mut random = Random::new(4);
    let mut monitor = open(torn.path());
    for (i, batch) in all.iter().enumerate() {
        monitor.record_at(batch, request(i), DAY + i as i64 * 1000).expect("a record");
        monitor.commit().expect("durable");
        match random.below(12) {
            0 => monitor.snapshot().expect("a snapshot"),
            1 => {
                drop(monitor);
                monitor = open(torn.path());
            }
            2 => {
                // A sender that heard nothing sends again.
                let again = monitor.record_at(batch, request(i), DAY).expect("known");
                assert!(again.duplicate && again.counted == 0);
                assert_eq!(again.sequence, i as u64 + 1);
            }
            _ => {}
        }
    }
    assert_eq!(evidence(&monitor), evidence(&undisturbed));
    let view = monitor.view();
    assert_eq!(view.samples, all.iter().map(|b| b.len() as u64).sum::<u64>());
    assert_eq!((view.alarms.len(), view.status), (1, Status::Alarm));
    let alarm = &view.alarms[0];
    assert!((1501..1600).contains(&alarm.raised.sample), "{alarm:?}");
    let began = alarm.began.expect("a beginning");
    assert!(began.latest.sample >= began.likely.sample, "{began:?}");
    assert!((1400..=1540).contains(&began.likely.sample), "{began:?}");
    assert!((0.5..2.0).contains(&alarm.effect) && alarm.stream == Kind::Harm);
    assert!(alarm.crossings > 5 && alarm.carriers.len() == 5);
    assert!(alarm.carriers[0].name.starts_with("request "), "{alarm:?}");
    let names = fs::read_dir(torn.path()).expect("a folder").count();
    assert!(names <= 8, "two snapshots and the journal since: {names} files");
}

#[test]
fn batches_may_be_cut_anywhere() {
    let [whole, single] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (mut a, mut b) = (open(whole.path()), open(single.path()));
    let unnamed = |first| Origin::Unnamed { name: "-".to_owned(), first };
    let mut first = 0;
    for batch in batches(200, 300, 1.0) {
        a.record_at(&batch, unnamed(first), DAY).expect("a record");
        for i in 0..batch.len() {
            let one = Batch {
                values: batch.values.iter().map(|v| vec![v[i]]).collect(),
                flags: vec![batch.flags[i]],
                names: Vec::new(),
            };
            b.record_at(&one, unnamed(first + i as u64), DAY).expect("a record");
        }
        first += batch.len() as u64;
    }
    let (mut a, mut b) = (a.view(), b.view());
    (a.sequence, b.sequence) = (0, 0);
    assert_eq!(serde_json::to_string(&a).expect("JSON"), serde_json::to_string(&b).expect("JSON"));
}

#[test]
fn rows_of_files_count_once_and_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut monitor = open(folder.path());
    let file = FileId { name: "a.npy".to_owned(), bytes: 10, sha256: [7; 32] };
    let rows = |first| Origin::Rows { file: file.clone(), first, grown_from: None };
    let batch = &batches(7, 1000, 0.0)[6];
    assert_eq!(batch.len(), 7);
    assert_eq!(monitor.record(batch, rows(0)).expect("counted").counted, 7);
    let overlap = monitor.record(batch, rows(4)).expect("counted");
    assert_eq!((overlap.counted, overlap.first, overlap.duplicate), (4, 8, false));
    assert!(monitor.record(batch, rows(2)).expect("known").duplicate);
    let gap = monitor.record(batch, rows(20)).expect_err("a gap").to_string();
    assert!(gap.contains("rows 11 to 20"), "{gap}");
    monitor.commit().expect("durable");
    drop(monitor);
    let monitor = open(folder.path());
    assert_eq!(monitor.cursor("a.npy").map(|c| c.rows), Some(11));
    assert_eq!(monitor.samples(), 11);
    let mut monitor = monitor;
    let other = FileId { sha256: [8; 32], ..file };
    let grown = Origin::Rows { file: other.clone(), first: 7, grown_from: Some([7; 32]) };
    assert_eq!(monitor.record(batch, grown).expect("a longer file").counted, 3);
    let other = FileId { sha256: [9; 32], ..other };
    let replaced = Origin::Rows { file: other, first: 0, grown_from: None };
    assert_eq!(monitor.record(batch, replaced).expect("another file").counted, 7);
    let files = |range: std::ops::Range<u8>| Origin::Files {
        files: range
            .map(|i| FileId { name: format!("{i}.png"), bytes: 1, sha256: [i; 32] })
            .collect(),
    };
    assert_eq!(monitor.record(batch, files(0..7)).expect("counted").counted, 7);
    assert_eq!(monitor.record(batch, files(4..11)).expect("counted").counted, 4);
    assert!(monitor.record(batch, files(2..9)).expect("known").duplicate);
    assert!(monitor.record(batch, files(0..3)).is_err(), "a file for every sample");
    let ids = ["a", "b", "a", "c", "d", "e", "f"].map(str::to_owned).to_vec();
    let each = || Origin::Each { name: "-".to_owned(), ids: ids.clone() };
    assert_eq!(monitor.record(batch, each()).expect("counted").counted, 6, "an id is twice there");
    assert!(monitor.record(batch, each()).expect("known").duplicate);
}

#[test]
fn alarms_are_acknowledged_resolved_and_told_at_least_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut monitor = open(folder.path());
    let far = Batch {
        values: vec![vec![9.0; 20], vec![0.0; 20], vec![0.0; 20]],
        flags: vec![true; 20],
        names: Vec::new(),
    };
    assert_eq!(monitor.record(&far, request(0)).expect("a record").raised, Some(1));
    assert!(monitor.outbox().is_empty(), "not durable yet");
    monitor.commit().expect("durable");
    let events = |m: &Monitor| m.outbox().iter().map(|(m, _)| m.event).collect::<Vec<_>>();
    assert_eq!(events(&monitor), [Event::Raised]);
    drop(monitor);
    let mut monitor = open(folder.path());
    assert_eq!(events(&monitor), [Event::Raised], "it is sent again if nobody said it was");
    monitor.delivered(1, Event::Raised).expect("noted");
    assert!(monitor.outbox().is_empty());
    monitor.acknowledge(1, "Ada", "the new camera").expect("known");
    assert_eq!(monitor.record(&far, request(1)).expect("a record").raised, None, "one episode");
    assert_eq!(monitor.view().status, Status::Acknowledged);
    assert!(monitor.acknowledge(2, "Ada", "").is_err());
    for (i, batch) in batches(1500, usize::MAX, 0.0).iter().enumerate() {
        monitor.record(batch, request(10 + i)).expect("a record");
    }
    monitor.commit().expect("durable");
    let view = monitor.view();
    assert_eq!((view.status, view.alarms.len()), (Status::Quiet, 1));
    let resolved = view.alarms[0].resolved.expect("resolved");
    assert_eq!((resolved.why, view.alarms[0].standing), (Why::Quiet, Standing::Resolved));
    assert_eq!(events(&monitor), [Event::Acknowledged, Event::Resolved]);
    assert_eq!(monitor.record(&far, request(9)).expect("a record").raised, Some(2));
    monitor.restart().expect("anew");
    let view = monitor.view();
    assert_eq!(view.alarms[1].resolved.map(|r| r.why), Some(Why::Restart));
    assert!(view.log_evidence < -1e300 && view.worst.is_empty());
}

#[test]
fn the_head_of_a_stream_becomes_its_calibration() {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = Baseline { seen_by_model: Some("trained on".to_owned()), ..baseline(1) };
    let plain = Settings::default();
    let open = |settings: &Settings| {
        Monitor::open(folder.path(), seen.clone(), settings.clone(), Opening::default())
    };
    assert_eq!(open(&plain).expect_err("seen").kind(), ErrorKind::SeenByModel);
    let settings = Settings { recalibrate: Some(500), ..plain };
    let mut monitor = open(&settings).expect("a state");
    // Scores far from those of the calibration, which does not count.
    let shifted = |batch: &Batch, by: f64| Batch {
        values: batch.values.iter().map(|v| v.iter().map(|x| x + by).collect()).collect(),
        ..batch.clone()
    };
    let all = batches(500, 1500, 2.0);
    for (i, batch) in all.iter().enumerate() {
        let outcome = monitor.record(&shifted(batch, 50.0), request(i)).expect("a record");
        monitor.commit().expect("durable");
        if i % 50 == 3 {
            drop(monitor);
            monitor = open(&settings).expect("a state");
        }
        let gathering = monitor.view().gathering;
        assert_eq!(gathering.is_some(), outcome.first + (batch.len() as u64) <= 500, "{i}");
    }
    let view = monitor.view();
    assert_eq!(view.streams[0].calibrated, 500);
    let raised = view.alarms[0].raised.sample;
    assert!((1501..1530).contains(&raised), "{raised}");
}

#[test]
fn another_detector_other_settings_and_another_process_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let monitor = open(folder.path());
    assert_eq!(refusal(folder.path()).kind(), ErrorKind::Locked);
    drop(monitor);
    let other = Monitor::open(folder.path(), baseline(2), Settings::default(), Opening::default());
    let message = other.expect_err("another detector").to_string();
    assert!(message.contains("detector 1") && message.contains("detector 2"), "{message}");
    let settings = Settings { run_length: 500.0, ..Settings::default() };
    let other = Monitor::open(folder.path(), baseline(1), settings, Opening::default());
    let message = other.expect_err("other settings").to_string();
    assert!(message.contains("run length 10000.0, now 500.0"), "{message}");
}

/// A folder with a state, and what its evidence is.
fn filled(folder: &Path, snapshots: bool) -> String {
    let mut monitor = open(folder);
    for (i, batch) in batches(120, 300, 0.5).iter().enumerate() {
        monitor.record_at(batch, request(i), DAY).expect("a record");
        monitor.commit().expect("durable");
        if snapshots && i % 50 == 49 {
            monitor.snapshot().expect("a snapshot");
        }
    }
    evidence(&monitor)
}

fn journals(folder: &Path, prefix: &str) -> Vec<std::path::PathBuf> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix)))
        .collect();
    found.sort();
    found
}

#[test]
fn a_record_that_was_never_finished_is_cut_and_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = filled(folder.path(), false);
    let journal = &journals(folder.path(), "journal-")[0];
    let whole = fs::read(journal).expect("a journal");
    let mut monitor = open(folder.path());
    monitor.record_at(&batches(1, 0, 0.0)[0], request(999), DAY).expect("a record");
    // Not committed: as if the process had been killed while it wrote.
    drop(monitor);
    let longer = fs::read(journal).expect("a journal");
    for cut in [whole.len() + 1, longer.len() - 1] {
        fs::write(journal, &longer[..cut]).expect("written");
        let monitor = open(folder.path());
        assert!(monitor.notes()[0].contains("never finished"), "{:?}", monitor.notes());
        assert_eq!(evidence(&monitor), before);
        assert_eq!(fs::read(journal).expect("a journal").len(), whole.len());
    }
}

#[test]
fn damage_is_told_and_never_silently_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = filled(folder.path(), true);
    let copy = tempfile::tempdir().expect("a folder");
    let mut random = Random::new(8);
    let files =
        [journals(folder.path(), "journal-"), journals(folder.path(), "snapshot-")].concat();
    let mut refused = 0;
    for trial in 0..200 {
        for entry in fs::read_dir(folder.path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, copy.path().join(path.file_name().expect("a name"))).expect("copied");
        }
        let file = copy.path().join(files[trial % files.len()].file_name().expect("a name"));
        let mut bytes = fs::read(&file).expect("bytes");
        let at = random.below(bytes.len().max(1));
        if bytes.is_empty() || trial % 2 == 0 {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << random.below(8);
        }
        fs::write(&file, &bytes).expect("written");
        let opened =
            Monitor::open(copy.path(), baseline(1), Settings::default(), Opening::default());
        match opened {
            Ok(monitor) => assert_eq!(evidence(&monitor), before, "{trial} {}", file.display()),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
                refused += 1;
            }
        }
    }
    assert!((40..200).contains(&refused), "{refused}");
}

#[test]
fn what_was_acknowledged_and_is_gone_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(folder.path(), false);
    let journal = &journals(folder.path(), "journal-")[0];
    let bytes = fs::read(journal).expect("a journal");
    fs::write(journal, &bytes[..bytes.len() / 2]).expect("written");
    let error = refusal(folder.path());
    assert!(error.to_string().contains("record 120 had been acknowledged"), "{error}");
    let opening = Opening { accept_loss: true, ..Opening::default() };
    let opened = Monitor::open(folder.path(), baseline(1), Settings::default(), opening);
    let monitor = opened.expect("accepted");
    assert!(monitor.notes().iter().any(|n| n.contains("acknowledged records are lost")));
    drop(monitor);
    fs::remove_file(folder.path().join("monitor.json")).expect("removed");
    assert!(refusal(folder.path()).to_string().contains("missing"));
}

#[test]
fn a_state_stays_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut monitor = open(folder.path());
    let batch = Batch {
        values: vec![vec![0.1; 1000], vec![0.2; 1000], vec![0.3; 1000]],
        flags: vec![false; 1000],
        names: Vec::new(),
    };
    let mut sizes = Vec::new();
    for i in 0..650 {
        monitor
            .record(&batch, Origin::Unnamed { name: "-".to_owned(), first: i })
            .expect("counted");
        if i % 10 != 9 {
            continue;
        }
        monitor.commit().expect("durable");
        let files = fs::read_dir(folder.path()).expect("a folder");
        let bytes = files.map(|e| e.expect("an entry").metadata().expect("a file").len());
        sizes.push(bytes.sum::<u64>());
    }
    let (half, most) = (sizes[..40].iter().max(), sizes.iter().max());
    assert!(most.is_some_and(|m| *m < 8 << 20), "{most:?}");
    assert!(
        half.zip(most).is_some_and(|(h, m)| *m as f64 <= 1.05 * *h as f64),
        "{half:?} {most:?}"
    );
    assert!(monitor.view().series.len() <= 2000);
}
