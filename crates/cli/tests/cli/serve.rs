//! `taste serve`, over a real connection.

use std::{
    io::{BufRead, BufReader, Lines, Read, Write},
    net::TcpStream,
    process::{Child, ChildStderr, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ndarray::ArrayD;
use serde_json::Value as Json;

use crate::{
    common::Place,
    models::{CLASSIFIER, ready, samples},
};

/// A place with a detector that was calibrated on samples apart.
fn calibrated() -> Place {
    let place = ready(&CLASSIFIER);
    place.write("apart.npy", &samples(700, 0.0, 99).into_dyn());
    place.ok(
        "fit --model model.onnx --score-model gaussian --data train.npy --calibration apart.npy -o detector.onnx -q",
    );
    place
}

/// A service that runs.
struct Running {
    child: Child,
    address: String,
}

impl Running {
    fn start(place: &Place, arguments: &str) -> Self {
        let (service, lines) = Self::start_unread(place, arguments);
        // What it says later is read, so that it never waits for a reader.
        thread::spawn(move || lines.for_each(drop));
        service
    }

    /// A service, and the lines that it says later.
    fn start_unread(place: &Place, arguments: &str) -> (Self, Lines<BufReader<ChildStderr>>) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_taste"))
            .args(["serve", "detector.onnx", "--listen", "127.0.0.1:0"])
            .args(arguments.split_whitespace())
            .current_dir(place.folder.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|line| line.unwrap().strip_prefix("listening on http://").map(str::to_owned));
        (Self { child, address: address.expect("it listens") }, lines)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream
    }

    /// A request on a connection of its own; nothing if the service goes away.
    fn try_send(&self, method: &str, path: &str, body: &[u8]) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_mins(1))).ok()?;
        let (address, length) = (&self.address, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        Some((status, answer.split_once("\r\n\r\n")?.1.to_owned()))
    }

    fn send(&self, method: &str, path: &str, body: &[u8]) -> (u16, Json) {
        let (status, body) = self.try_send(method, path, body).expect("an answer");
        (status, serde_json::from_str(&body).unwrap_or_else(|e| panic!("{e}: {body}")))
    }

    fn samples(&self) -> u64 {
        self.send("GET", "/v1/monitors/detector", b"").1["samples"].as_u64().unwrap()
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request of the protocol with its own id.
fn request(id: &str, rows: &ArrayD<f32>) -> Vec<u8> {
    let data: Vec<f32> = rows.iter().copied().collect();
    let input = serde_json::json!({
        "name": "x", "shape": rows.shape(), "datatype": "FP32", "data": data,
    });
    serde_json::json!({ "id": id, "inputs": [input] }).to_string().into_bytes()
}

const INFER: &str = "/v2/models/detector/infer";

#[test]
fn scores_are_those_of_the_command_and_the_service_ends_in_order() {
    let place = calibrated();
    let service = Running::start(&place, "--state state --drain 0");
    let name = service.send("GET", "/v2/models/detector", b"").1["inputs"][0]["name"].clone();
    assert_eq!(name, "x");
    let rows = samples(5, 0.5, 3).into_dyn();
    place.write("five.npy", &rows);
    let table = place.ok("score detector.onnx five.npy --json -q").out;
    let (status, answer) = service.send("POST", INFER, &request("a", &rows));
    assert_eq!(status, 200, "{answer}");
    for (line, score) in table.lines().zip(answer["outputs"][0]["data"].as_array().unwrap()) {
        let wanted = serde_json::from_str::<Json>(line).unwrap()["score"].as_f64().unwrap();
        let got = score.as_f64().unwrap();
        assert!((wanted - got).abs() <= 1e-4 * wanted.abs().max(1e-3), "{wanted} {got}");
    }
    // Half a head, a connection that says nothing and one that listens to events: none of them holds it up.
    let (mut half, silent, mut listening) =
        (service.connect(), service.connect(), service.connect());
    half.write_all(b"POST /v1/score HTTP/1.1\r\nhost: ").unwrap();
    let events = "GET /v1/monitors/detector/stream HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
    listening.write_all(events.as_bytes()).unwrap();
    let mut first = [0; 15];
    listening.read_exact(&mut first).unwrap();
    assert_eq!(service.send("GET", "/v2/health/ready", b"").0, 200);
    let begin = Instant::now();
    service.signal("-TERM");
    assert_eq!(service.ended(), Some(0));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    drop((half, silent));
    let service = Running::start(&place, "--state state --drain 0");
    assert_eq!(service.samples(), 5);
}

#[test]
fn kills_lose_nothing_that_was_answered_and_count_nothing_twice() {
    let kills: usize = std::env::var("TASTE_KILLS").map_or(6, |n| n.parse().unwrap());
    let place = calibrated();
    let rows = samples(2000 * kills, 0.0, 17);
    let (mut next, mut answered) = (0usize, 0usize);
    let mut seed = 5u64;
    for _ in 0..kills {
        let service = Running::start(&place, "--state state");
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let pause = Duration::from_millis(100 + (seed >> 33) % 300);
        let id = service.child.id().to_string();
        let killer = thread::spawn(move || {
            thread::sleep(pause);
            Command::new("kill").args(["-KILL", &id]).status().unwrap()
        });
        // What was not answered is sent again under its name.
        while next < rows.nrows() {
            let row = rows.slice(ndarray::s![next..=next, ..]).to_owned().into_dyn();
            match service.try_send("POST", INFER, &request(&format!("row {next}"), &row)) {
                Some((200, _)) => (next, answered) = (next + 1, answered + 1),
                _ => break,
            }
        }
        assert!(killer.join().unwrap().success());
    }
    assert!(answered > 0);
    let service = Running::start(&place, "--state state --drain 0");
    let counted = usize::try_from(service.samples()).unwrap();
    assert!(
        counted == answered || counted == answered + 1,
        "{counted} counted, {answered} answered"
    );
    while next < answered + 1 {
        let row = rows.slice(ndarray::s![next..=next, ..]).to_owned().into_dyn();
        assert_eq!(service.send("POST", INFER, &request(&format!("row {next}"), &row)).0, 200);
        next += 1;
    }
    assert_eq!(service.samples(), next as u64);
    let disturbed = service.send("GET", "/v1/monitors/detector", b"").1;
    // A run that nobody disturbs.
    let other = Running::start(&place, "--state other");
    for i in 0..next {
        let row = rows.slice(ndarray::s![i..=i, ..]).to_owned().into_dyn();
        assert_eq!(other.send("POST", INFER, &request(&format!("row {i}"), &row)).0, 200);
    }
    let calm = other.send("GET", "/v1/monitors/detector", b"").1;
    assert_eq!(disturbed["log_evidence"].to_string(), calm["log_evidence"].to_string());
    assert_eq!(disturbed["flagged"], calm["flagged"]);
}

#[test]
fn too_much_is_refused_at_once_and_the_rest_is_answered_in_time() {
    let place = calibrated();
    let service = Running::start(&place, "--queue 64 --batch 16 --timeout 5");
    let rows = samples(32, 0.0, 3).into_dyn();
    let body = request("", &rows);
    let outcomes: Vec<(u16, Duration)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    (0..8)
                        .map(|_| {
                            let begin = Instant::now();
                            let status = service.send("POST", INFER, &body).0;
                            (status, begin.elapsed())
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(outcomes.iter().all(|(status, _)| [200, 503].contains(status)), "{outcomes:?}");
    let taken: Vec<_> = outcomes.iter().filter(|o| o.0 == 200).collect();
    assert!(!taken.is_empty() && taken.iter().all(|o| o.1 < Duration::from_secs(6)));
    let metrics = service.try_send("GET", "/metrics", b"").unwrap().1;
    let rejected = outcomes.iter().filter(|o| o.0 == 503).count();
    let line =
        format!("taste_requests_total{{detector=\"detector\",outcome=\"rejected\"}} {rejected}\n");
    assert!(metrics.contains(&line), "{rejected} {metrics}");
}

/// Asks for many things that are not there, fifty at once over one connection.
fn flood(service: &Running, requests: usize) {
    const AT_ONCE: usize = 50;
    let mut stream = service.connect();
    let request = format!("GET /{} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", "x".repeat(190));
    for _ in 0..requests / AT_ONCE {
        stream.write_all(request.repeat(AT_ONCE).as_bytes()).unwrap();
        // Each answer is an object.
        let mut answered = 0;
        while answered < AT_ONCE {
            let mut part = [0; 4096];
            let read = stream.read(&mut part).unwrap();
            assert_ne!(read, 0, "the connection was closed");
            answered += String::from_utf8_lossy(&part[..read]).matches('}').count();
        }
    }
}

#[test]
fn the_log_has_a_line_for_every_request_and_is_whole_when_the_service_ends() {
    let place = calibrated();
    let arguments = "--log-requests --log json --drain 0";
    let (service, lines) = Running::start_unread(&place, arguments);
    let reader = thread::spawn(move || lines.map(Result::unwrap).collect::<Vec<_>>());
    flood(&service, 2000);
    service.signal("-TERM");
    assert_eq!(service.ended(), Some(0));
    let log: Vec<Json> =
        reader.join().unwrap().iter().map(|l| serde_json::from_str(l).expect(l)).collect();
    assert_eq!(log.iter().filter(|l| l["message"] == "request").count(), 2000);
    assert_eq!(log.last().unwrap()["message"], "ended");
}

#[test]
fn a_log_that_nobody_reads_holds_up_neither_answers_nor_the_end() {
    let place = calibrated();
    // More than the system and the service keep of it.
    let (service, lines) = Running::start_unread(&place, "--log-requests --drain 0");
    flood(&service, 6000);
    let begin = Instant::now();
    service.signal("-TERM");
    assert_eq!(service.ended(), Some(0));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    drop(lines);
}

#[test]
fn what_is_wrong_is_said_in_one_sentence() {
    let place = calibrated();
    place.fails("serve nothing.onnx", "nothing.onnx");
    place.fails("serve detector.onnx detector.onnx", "two detectors are called");
    place.fails("serve a/b=detector.onnx", "can't be a part of an address");
    place.fails("serve detector.onnx --listen 0.0.0.0:0", "--tokens");
    place.text("tokens.txt", "root 1");
    place.fails("serve detector.onnx --tokens tokens.txt", "tokens.txt: line 1");
    place.fails("serve detector.onnx --run-length 0", "run length");
    place.text("state", "a file");
    place.fails("serve detector.onnx --state state", "state");
    place.ok("fit --model model.onnx --score-model gaussian --data train.npy -o seen.onnx -q");
    std::fs::remove_file(place.path("state")).unwrap();
    let run = place.run("serve seen.onnx --state state");
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("--recalibrate"), "{}", run.err);
}
