//! `taste demo --serve`: the service on the detector of glyphs, with a stream that turns harmful after a while.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::Result;
use ndarray::ArrayD;
use taste_serve::{App, Settings, Source, Watching};

use super::{Seeds, change::Change};
use crate::{args::DemoArgs, serve, tell};

/// Samples of a request, and the pause between requests.
const SAMPLES: usize = 4;
const PAUSE: Duration = Duration::from_millis(250);
/// Requests with samples like those of the training.
const FRESH: u64 = 150;
/// The worst samples that are shown.
const KEPT: usize = 12;

/// Serves the detector that the demonstration left, until a signal ends it.
pub(super) fn run(args: &DemoArgs, seeds: Seeds) -> Result<()> {
    let path = args.out.join("glyphs-detector.onnx");
    let watching = Watching { keep: KEPT, ..Watching::default() };
    let source = Source { name: Some("glyphs".to_owned()), path };
    let settings = Settings { drain: Duration::ZERO, ..Settings::default() };
    let engine = taste_detector::Engine::default();
    let app = App::start(&[source], &engine, None, &watching, settings.clone())?;
    let quiet = args.quiet;
    serve::serve(app, args.listen, &settings, |address| {
        if !quiet {
            let fresh = FRESH * SAMPLES as u64;
            tell(&format!(
                "open http://{address}/monitors/glyphs: {fresh} usual glyphs come first, then some are struck out; \
                 Ctrl-C ends"
            ));
            open(&format!("http://{address}/monitors/glyphs"));
        }
        thread::spawn(move || stream(address, seeds, quiet));
    })
}

/// Sends glyphs one request after the other.
fn stream(address: SocketAddr, seeds: Seeds, quiet: bool) {
    for number in 0.. {
        if number == FRESH && !quiet {
            tell("from now on every second glyph is struck out");
        }
        let seed = seeds.of(&format!("stream {number}"));
        let harmful = number >= FRESH && number % 2 == 0;
        let change = if harmful { Change::Struck } else { Change::Nothing };
        // A service that is ending takes no more.
        if send(address, &change.batch(seed, SAMPLES).images).is_err() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Sends samples as they are: a body of the protocol without JSON.
fn send(address: SocketAddr, images: &ArrayD<f32>) -> std::io::Result<()> {
    let body: Vec<u8> = images.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut connection = TcpStream::connect(address)?;
    write!(
        connection,
        "POST /v2/models/glyphs/infer HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         inference-header-content-length: 0\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )?;
    connection.write_all(&body)?;
    connection.read_to_end(&mut Vec::new()).map(|_| ())
}

/// Opens a browser where there is a screen.
fn open(address: &str) {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if has("DISPLAY") || has("WAYLAND_DISPLAY") {
        "xdg-open"
    } else {
        return;
    };
    let nothing = || Stdio::null();
    let _ = Command::new(Path::new(opener))
        .arg(address)
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .spawn();
}
