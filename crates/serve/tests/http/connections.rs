//! Connections, over a real one.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use taste_serve::{Limits, Server, Settings, Stop, Watching};
use tokio::task::JoinHandle;

use crate::common::Service;

async fn listening(limits: Limits) -> (SocketAddr, Stop, JoinHandle<()>) {
    let settings = Settings { limits, grace: Duration::from_secs(5), ..Settings::default() };
    let service = Service::with(settings, None, &Watching::default());
    let server = Server::bind(Arc::clone(&service.app), ([127, 0, 0, 1], 0).into()).await;
    let server = server.expect("an address");
    let (address, stop) = (server.address(), Stop::new());
    let running = tokio::spawn(server.run(stop.clone()));
    (address, stop, running)
}

/// A connection that waits for ten seconds at most.
fn connected(address: SocketAddr, beginning: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    stream.write_all(beginning.as_bytes()).expect("sent");
    stream
}

fn live(address: SocketAddr) -> String {
    let request = "GET /v2/health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    connected(address, request).read_to_string(&mut answer).expect("an answer");
    answer
}

const HALF: &str = "POST /v1/score HTTP/1.1\r\nhost: ";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn half_a_head_and_silence_are_cut_off() {
    let limits = Limits { head: Duration::from_millis(300), ..Limits::default() };
    let (address, ..) = listening(limits).await;
    for beginning in [HALF, ""] {
        let (begin, mut rest) = (Instant::now(), Vec::new());
        let _ = connected(address, beginning).read_to_end(&mut rest);
        assert!(begin.elapsed() < Duration::from_secs(9), "{beginning:?} stays open");
    }
    assert!(live(address).starts_with("HTTP/1.1 200"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn those_who_say_nothing_make_room_for_others() {
    let (address, ..) = listening(Limits { connections: 4, ..Limits::default() }).await;
    let silent: Vec<TcpStream> = (0..20).map(|_| connected(address, "")).collect();
    let answer = live(address);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("{\"live\":true}"), "{answer}");
    drop(silent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_end_waits_for_nobody_who_has_not_asked() {
    let (address, stop, running) = listening(Limits::default()).await;
    let half = connected(address, HALF);
    let request = "GET /v1/monitors/plane/stream HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut events = connected(address, request);
    events.read_exact(&mut [0; 12]).expect("an answer");
    let begin = Instant::now();
    stop.after(Duration::ZERO);
    tokio::time::timeout(Duration::from_secs(20), running).await.expect("in time").expect("ended");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert!(TcpStream::connect(address).is_err());
    drop(half);
}
