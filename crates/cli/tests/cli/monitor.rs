//! `taste monitor`.

use std::{
    collections::HashSet,
    fs,
    io::{Read, Write},
    net::TcpListener,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ndarray::{Array2, Axis, concatenate};
use serde_json::Value as Json;
use taste_stats::random::Random;

use crate::{
    common::Place,
    models::{CLASSIFIER, ready, samples},
};

/// A detector that is calibrated on samples of their own, with `same.npy` and `moved.npy`.
fn watched() -> Place {
    let place = ready(&CLASSIFIER);
    place.write("fresh.npy", &samples(1500, 0.0, 77).into_dyn());
    place.ok("fit --model model.onnx --score-model gaussian --target energy --tail upper -q \
              --data train.npy --calibration fresh.npy -o detector.onnx");
    place.write("same.npy", &samples(1200, 0.0, 21).into_dyn());
    place.write("moved.npy", &samples(300, 2.0, 22).into_dyn());
    place
}

fn monitored(place: &Place, arguments: &str, code: i32) -> Json {
    let run = place.run(&format!("monitor detector.onnx {arguments} --json"));
    assert_eq!(run.code, Some(code), "{arguments}\n{}{}", run.out, run.err);
    let last = if arguments.contains(" - ") || arguments.contains("--watch") {
        run.out.lines().last().unwrap()
    } else {
        &run.out
    };
    serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}\n{}", run.out))
}

/// What evidence consists of: bits of logarithms, samples and alarms.
fn evidence(report: &Json) -> String {
    let streams: Vec<&Json> =
        report["streams"].as_array().unwrap().iter().map(|s| &s["log_evidence"]).collect();
    let alarms: Vec<&Json> =
        report["alarms"].as_array().unwrap().iter().map(|a| &a["raised"]["sample"]).collect();
    let all = [&report["samples"], &report["log_evidence"], &report["lifetime_p_value"]];
    format!("{all:?} {streams:?} {alarms:?} {:?}", report["flagged"]["count"])
}

#[test]
fn an_alarm_tells_effect_since_when_and_which_samples() {
    let place = watched();
    let quiet = monitored(&place, "same.npy --state state -q", 0);
    assert_eq!((quiet["samples"].as_u64(), quiet["status"].as_str()), (Some(1200), Some("quiet")));
    let again = monitored(&place, "./same.npy --state state -q", 0);
    assert_eq!(evidence(&again), evidence(&quiet), "a file counts once, whatever it is called");
    assert_eq!(again["counted"].as_u64(), Some(0));
    let run = place.run("monitor detector.onnx moved.npy --state state --report page.html");
    assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
    for words in [
        "alarm 1 stands",
        "harm has moved by +",
        "it began between samples 1",
        "moved.npy, row ",
        "carried by  column ",
        "a stream of independent samples without a change",
    ] {
        assert!(run.out.contains(words), "{words}\n{}", run.out);
    }
    assert!(run.err.contains("alarm 1 at sample 12"), "{}", run.err);
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    for words in ["Alarm 1 stands", "Evidence by sample", "What is guaranteed", "Worst samples"] {
        assert!(page.contains(words), "{words}");
    }
    let shown = monitored(&place, "--state state -q", 1);
    let alarm = &shown["alarms"][0];
    let likely = alarm["began"]["likely"]["sample"].as_u64().unwrap();
    assert!((1150..=1215).contains(&likely), "{alarm}");
    assert!(alarm["raised"]["sample"].as_u64().unwrap() <= 1230, "{alarm}");
    let known = monitored(&place, "--state state -q --acknowledge new-camera", 1);
    assert_eq!(known["status"].as_str(), Some("acknowledged"));
    let anew = monitored(&place, "--state state -q --restart", 0);
    assert_eq!(anew["alarms"][0]["standing"].as_str(), Some("resolved"));
    place.fails("monitor detector.onnx --state state --acknowledge x", "no alarm stands");
}

#[test]
fn what_can_not_be_watched_is_said_in_a_sentence() {
    let place = watched();
    place.ok("fit --model model.onnx --score-model gaussian --data train.npy -o seen.onnx -q");
    place.fails("monitor seen.onnx same.npy --state other", "--recalibrate N");
    let own = place.json("monitor seen.onnx same.npy --state own --recalibrate 500 --json -q");
    assert_eq!(own["streams"][0]["calibrated"].as_u64(), Some(500));
    assert_eq!(own["samples"].as_u64(), Some(1200));
    place.ok("monitor detector.onnx same.npy --state state -q");
    place.fails("monitor seen.onnx same.npy --state state --recalibrate 500", "another detector");
    place.fails(
        "monitor detector.onnx same.npy --state state --run-length 50",
        "run length 10000.0, now 50.0",
    );
    place.fails("monitor detector.onnx --state state --run-length 0", "run length");
    place.fails("monitor detector.onnx --state none", "there is no state of a monitor");
    assert!(!place.path("none").exists());
    place.fails("monitor detector.onnx gone.npy --state state", "gone.npy");
    place.fails("monitor detector.onnx same.npy --state state/monitor.json", "monitor.json");
    place.fails("monitor detector.onnx --state state --webhook ftp://x", "http://");
}

#[test]
fn standard_input_is_watched_as_it_comes() {
    let place = watched();
    let rows = |values: &Array2<f32>, first: usize| -> String {
        let line = |(i, row): (usize, ndarray::ArrayView1<'_, f32>)| {
            format!("{},{},{},{},{}\n", first + i, row[0], row[1], row[2], row[3])
        };
        values.axis_iter(Axis(0)).enumerate().map(line).collect()
    };
    let (same, moved) = (samples(400, 0.0, 31), samples(100, 2.0, 32));
    let header = "id,a,b,c,d\n";
    place.text("train.csv", &(header.to_owned() + &rows(&samples(900, 0.0, 5), 0)));
    place.text("fresh.csv", &(header.to_owned() + &rows(&samples(900, 0.0, 6), 0)));
    place.ok("fit --model model.onnx --score-model gaussian --target energy --tail upper -q \
              --data train.csv --calibration fresh.csv --columns a,b,c,d -o detector.onnx");
    let text = header.to_owned() + &rows(&same, 0) + &rows(&moved, 400);
    let whole = piped(&place, "monitor detector.onnx - --state whole --json -q --key id", &text);
    let report: Json = serde_json::from_str(whole.1.lines().last().unwrap()).unwrap();
    assert_eq!((whole.0, report["samples"].as_u64()), (Some(1), Some(500)), "{}", whole.1);
    assert!(whole.1.lines().next().unwrap().contains("\"raised\""), "{}", whole.1);
    // Ids that are known are not counted again.
    let again = piped(&place, "monitor detector.onnx - --state whole --json -q --key id", &text);
    assert!(again.1.contains("\"counted\":0"), "{}", again.1);
    // The same as JSON lines.
    let record = |line: &str| {
        let v: Vec<&str> = line.split(',').collect();
        format!(
            "{{\"id\": {}, \"a\": {}, \"b\": {}, \"c\": {}, \"d\": {}}}",
            v[0], v[1], v[2], v[3], v[4]
        )
    };
    let json = text.lines().skip(1).map(record).collect::<Vec<_>>().join("\n");
    let lines = piped(&place, "monitor detector.onnx - --state lines --json -q", &json);
    let other: Json = serde_json::from_str(lines.1.lines().last().unwrap()).unwrap();
    assert_eq!(evidence(&other), evidence(&report));
    place.text("day.csv", &text);
    let file = monitored(&place, "day.csv --state file -q", 1);
    assert_eq!(evidence(&file), evidence(&report));
    // A file that grows is counted from where it had ended.
    place.text("log.csv", &(header.to_owned() + &rows(&same, 0)));
    assert_eq!(monitored(&place, "log.csv --state log -q", 0)["samples"].as_u64(), Some(400));
    place.text("log.csv", &text);
    let grown = monitored(&place, "log.csv --state log -q", 1);
    assert_eq!(grown["counted"].as_u64(), Some(100));
    assert_eq!(evidence(&grown), evidence(&report));
    let (code, out) = piped(&place, "monitor detector.onnx - --state bad -q", "a,b,c,d\n1,2,x,4\n");
    assert_eq!(code, Some(2), "{out}");
    // What begins as JSON lines goes on so: a line that is none is left out, and no header of a table.
    let mixed = json.lines().take(40).collect::<Vec<_>>().join("\n") + "\nnonsense\n" + &json;
    let arguments =
        "monitor detector.onnx - --state mixed --json -q --skip-bad --key id --batch 40";
    let (code, out) = piped(&place, arguments, &mixed);
    let skipped: Json = serde_json::from_str(out.lines().last().unwrap_or("{}")).unwrap();
    assert_eq!((code, evidence(&skipped)), (Some(1), evidence(&report)), "{out}");
}

/// Runs with something on standard input: the exit code, and standard output.
fn piped(place: &Place, arguments: &str, text: &str) -> (Option<i32>, String) {
    let mut child = started(place, arguments, Stdio::piped());
    let mut input = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = thread::spawn(move || {
        let _ = input.write_all(text.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn started(place: &Place, arguments: &str, stdin: Stdio) -> Child {
    Command::new(env!("CARGO_BIN_EXE_taste"))
        .args(arguments.split_whitespace())
        .current_dir(place.folder.path())
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_folder_is_watched_and_alarms_are_sent_at_least_once() {
    let place = watched();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    // The first message is refused, so it must come again.
    let receiver = thread::spawn(move || {
        let mut bodies = Vec::new();
        for answer in ["500 No", "200 OK", "200 OK"] {
            let (mut stream, _) = server.accept().unwrap();
            let mut text = Vec::new();
            let mut buffer = [0; 4096];
            while !String::from_utf8_lossy(&text).contains("\"time\":") {
                let read = stream.read(&mut buffer).unwrap();
                text.extend(&buffer[..read]);
            }
            write!(stream, "HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .unwrap();
            bodies.push(String::from_utf8(text).unwrap());
        }
        bodies
    });
    fs::create_dir(place.path("incoming")).unwrap();
    fs::copy(place.path("same.npy"), place.path("incoming/1.npy")).unwrap();
    let arguments = format!(
        "monitor detector.onnx --watch incoming --idle 4 --state state --json -q --webhook http://{address}/x"
    );
    let child = started(&place, &arguments, Stdio::null());
    thread::sleep(Duration::from_millis(1500));
    fs::copy(place.path("moved.npy"), place.path("incoming/2.npy")).unwrap();
    fs::write(place.path("incoming/3.npy"), "this is no array").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let report: Json = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(report["samples"].as_u64(), Some(1500), "{text}");
    // Acknowledged by hand: one more message.
    let run = place.run(&format!(
        "monitor detector.onnx --state state --acknowledge seen --webhook http://{address}/x"
    ));
    assert_eq!(run.code, Some(1), "{}", run.err);
    let bodies = receiver.join().unwrap();
    let key = |body: &String| {
        let at = body.find("\"key\":\"").unwrap() + 7;
        body[at..].split('"').next().unwrap().to_owned()
    };
    let keys: Vec<String> = bodies.iter().map(key).collect();
    assert!(keys[0].ends_with("-1-raised") && keys[0] == keys[1], "{keys:?}");
    assert!(keys[2].ends_with("-1-acknowledged"), "{keys:?}");
}

#[test]
fn a_row_that_is_written_in_two_parts_counts_as_one() {
    let place = watched();
    let rows = samples(400, 0.0, 31);
    let line = |row: ndarray::ArrayView1<'_, f32>| {
        row.iter().map(f32::to_string).collect::<Vec<_>>().join(",")
    };
    let text: String = rows.axis_iter(Axis(0)).map(|row| line(row) + "\n").collect();
    place.text("whole.csv", &text);
    let whole = evidence(&monitored(&place, "whole.csv --state whole -q", 0));
    fs::create_dir(place.path("incoming")).unwrap();
    // Within the last number of a row, which is a number without the rest.
    let cut = text.match_indices('\n').nth(200).unwrap().0 - 3;
    fs::write(place.path("incoming/a.csv"), &text[..cut]).unwrap();
    let arguments = "monitor detector.onnx --watch incoming --idle 2 --state state --json -q";
    let child = started(&place, arguments, Stdio::null());
    thread::sleep(Duration::from_secs(3));
    fs::write(place.path("incoming/a.csv"), &text).unwrap();
    let output = child.wait_with_output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(evidence(&serde_json::from_str(&report).unwrap()), whole);
    // Text may end so, and is waited for.
    fs::write(place.path("incoming/a.csv"), text.trim_end()).unwrap();
    let unended = monitored(&place, "--watch incoming --idle 1 --state unended -q", 0);
    assert_eq!(evidence(&unended), whole);
}

#[test]
fn kills_at_random_moments_change_nothing() {
    const RUN: &str = "monitor detector.onnx long.npy --state torn -q --batch 8";
    let place = watched();
    let data = concatenate![Axis(0), samples(2000, 0.0, 41), samples(200, 0.7, 42)];
    place.write("long.npy", &data.into_dyn());
    let begun = Instant::now();
    let whole = evidence(&monitored(&place, "long.npy --state whole -q --batch 8", 1));
    let usual = begun.elapsed();
    let mut random = Random::new(3);
    let mut seen = HashSet::new();
    for kill in 0..50 {
        let mut child = started(&place, RUN, Stdio::null());
        // Anywhere in a run, the opening of the state included.
        thread::sleep(usual.mul_f64(0.5 * random.uniform()));
        let ended = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        let journal = place.path("torn/journal-000000000001");
        seen.insert(fs::metadata(journal).map_or(0, |m| m.len()));
        if ended {
            let torn = monitored(&place, "long.npy --state torn -q --batch 8", 1);
            assert_eq!(evidence(&torn), whole, "kill {kill}");
            fs::remove_dir_all(place.path("torn")).unwrap();
        }
    }
    assert_eq!(evidence(&monitored(&place, "long.npy --state torn -q --batch 8", 1)), whole);
    assert!(seen.len() > 10, "kills fell at {} states of the journal", seen.len());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_the_run_with_a_sentence_and_loses_nothing() {
    let place = watched();
    place.write("long.npy", &samples(4000, 0.0, 51).into_dyn());
    let whole = evidence(&monitored(&place, "long.npy --state whole -q --batch 16", 0));
    // Writes beyond a limit fail as on a full disk, as the signal is ignored.
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 20; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_taste")])
        .args("monitor detector.onnx long.npy --state torn -q --batch 16".split_whitespace())
        .current_dir(place.folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8(limited.stderr).unwrap();
    assert_eq!(limited.status.code(), Some(2), "{error}");
    assert!(error.starts_with("error: nothing is counted any more"), "{error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    let shown = monitored(&place, "--state torn -q", 0);
    let counted = shown["samples"].as_u64().unwrap();
    assert!(0 < counted && counted < 4000, "{counted}");
    assert_eq!(evidence(&monitored(&place, "long.npy --state torn -q --batch 16", 0)), whole);
    place.fails("monitor detector.onnx same.npy --state /proc/state", "/proc/state");
    // Bytes that are cut off or flipped.
    let journal = place.path("torn/journal-000000000001");
    let bytes = fs::read(&journal).unwrap();
    fs::write(&journal, &bytes[..bytes.len() - 3]).unwrap();
    place.fails("monitor detector.onnx --state torn", "--accept-loss");
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    fs::write(&journal, flipped).unwrap();
    place.fails("monitor detector.onnx --state torn", "damaged at byte");
    fs::write(&journal, bytes).unwrap();
    place.ok("monitor detector.onnx --state torn");
}
