//! `taste serve`.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result};
use taste_serve::{App, Server, Settings, Source, Stop, Tokens, Watching};

use crate::{args::ServeArgs, log, tell};

pub(crate) fn run(args: &ServeArgs) -> Result<()> {
    let _log = log::start(args.log, args.log_requests, args.engine.quiet)
        .context("the log can't be started")?;
    let sources: Vec<Source> = args.detectors.iter().map(|text| source(text)).collect();
    let tokens = args.tokens.as_deref().map(Tokens::read).transpose()?;
    let local = args.listen.ip().is_loopback();
    if !local && tokens.is_none() && !args.open {
        return Err(taste_serve::Error::Open { address: args.listen }.into());
    }
    let settings = Settings {
        open_metrics: args.open_metrics,
        local_names_only: local,
        ..args.load.settings()?
    };
    let (engine, watching) = (args.engine.engine()?, args.watching.watching());
    watching.settings.check()?;
    let app = App::start(&sources, &engine, tokens, &watching, settings.clone())?;
    if !args.engine.quiet {
        tell_monitors(&app, &watching);
    }
    serve(app, args.listen, &settings, |address| {
        if !args.engine.quiet {
            tell(&format!("listening on http://{address}"));
        }
    })
}

/// `NAME=FILE`, or a file.
fn source(text: &str) -> Source {
    match text.split_once('=') {
        Some((name, path)) if !Path::new(text).exists() && !name.contains('/') => {
            Source { name: Some(name.to_owned()), path: PathBuf::from(path) }
        }
        _ => Source { name: None, path: PathBuf::from(text) },
    }
}

fn tell_monitors(app: &App, watching: &Watching) {
    for (name, why) in app.not_monitored() {
        tell(&format!("warning: {name} is not monitored: {why}"));
    }
    match &watching.state {
        Some(folder) => tell(&format!("monitors keep what they know in {}", folder.display())),
        None => tell("note: what monitors know ends with the service; --state DIR keeps it"),
    }
}

/// Serves until a signal ends it.
pub(crate) fn serve(
    app: Arc<App>,
    listen: std::net::SocketAddr,
    settings: &Settings,
    listening: impl FnOnce(std::net::SocketAddr),
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the service can't start")?;
    runtime.block_on(async {
        let stop = Stop::new();
        watch_signals(stop.clone(), settings.drain)?;
        let server = Server::bind(app, listen).await?;
        listening(server.address());
        server.run(stop).await;
        Ok(())
    })
}

/// SIGTERM ends the service with a drain, Ctrl-C without; the second of them at once.
fn watch_signals(stop: Stop, drain: Duration) -> io::Result<()> {
    let mut terminate = Terminate::new()?;
    tokio::spawn(async move {
        let drain = tokio::select! {
            () = terminate.wait() => drain,
            _ = tokio::signal::ctrl_c() => Duration::ZERO,
        };
        stop.after(drain);
        tokio::select! {
            () = terminate.wait() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        // What was acknowledged is durable, so nothing is lost.
        std::process::exit(130);
    });
    Ok(())
}

/// The signal that asks programs to end, where the system has one.
struct Terminate {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Terminate {
    #[cfg(unix)]
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { signal: signal(SignalKind::terminate())? })
    }

    #[cfg(unix)]
    async fn wait(&mut self) {
        self.signal.recv().await;
    }

    #[cfg(not(unix))]
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn wait(&mut self) {
        std::future::pending::<()>().await;
    }
}
