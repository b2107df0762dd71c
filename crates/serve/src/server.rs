//! Connections: accepted up to a number, with time limits, and ended with a deadline.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, http::Request};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{App, Error, router};

/// A service that listens.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
}

/// What ends a service.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Sends true to end with a drain, or drops the sender to end at once but in order.
    sender: watch::Sender<Option<Duration>>,
}

impl Stop {
    /// Nothing has been said yet.
    #[must_use]
    pub fn new() -> Self {
        Self { sender: watch::Sender::new(None) }
    }

    /// Ends the service after it has gone on as before for a while.
    pub fn after(&self, drain: Duration) {
        self.sender.send_replace(Some(drain));
    }

    async fn wanted(&self) -> Duration {
        let mut receiver = self.sender.subscribe();
        loop {
            if let Some(drain) = *receiver.borrow_and_update() {
                return drain;
            }
            // The sender lives as long as self.
            let _ = receiver.changed().await;
        }
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

/// A connection as the accept loop knows it.
#[derive(Debug, Default)]
struct Connection {
    /// Requests that are being answered.
    busy: AtomicUsize,
    evicted: Notify,
}

/// Open connections, the oldest first.
#[derive(Debug, Default)]
struct Connections {
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
}

impl Connections {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for one more: the oldest that is not being answered goes. False if all are.
    fn make_room(&self, most: usize) -> bool {
        let mut open = self.lock();
        if open.len() < most {
            return true;
        }
        let idle = open.iter().find(|(_, c)| c.busy.load(Ordering::Relaxed) == 0).map(|c| *c.0);
        match idle.and_then(|number| open.remove(&number)) {
            Some(connection) => {
                connection.evicted.notify_one();
                true
            }
            None => false,
        }
    }
}

impl Server {
    /// Listens at an address.
    pub async fn bind(app: Arc<App>, address: SocketAddr) -> Result<Self, Error> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| Error::Listen { address, source })?;
        let address = listener.local_addr().map_err(|source| Error::Listen { address, source })?;
        Ok(Self { app, listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is told to end. Then it goes on for the drain, takes no more connections, lets requests end within
    /// the grace, and makes what the monitors know durable.
    pub async fn run(self, stop: Stop) {
        let Self { app, listener, .. } = self;
        let router = router(Arc::clone(&app));
        let connections = Arc::new(Connections::default());
        let mut tasks = JoinSet::new();
        let mut number = 0;
        let drained = async {
            let drain = stop.wanted().await;
            app.set_not_ready();
            tracing::info!(seconds = drain.as_secs(), "ending: the service is not ready any more");
            sleep(drain).await;
        };
        tokio::pin!(drained);
        loop {
            tokio::select! {
                () = &mut drained => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        if connections.make_room(app.settings.limits.connections) {
                            number += 1;
                            let own = Own::enter(&connections, number);
                            tasks.spawn(serve(stream, router.clone(), own, Arc::clone(&app)));
                        } else {
                            app.refused_connections.add(1);
                        }
                    }
                    Err(error) => {
                        // Out of file descriptors, or a connection that was gone: others go on.
                        tracing::warn!(%error, "a connection could not be accepted");
                        sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            }
        }
        drop(listener);
        app.ending.send_replace(true);
        let grace = app.settings.grace;
        let all = async { while tasks.join_next().await.is_some() {} };
        if timeout(grace, all).await.is_err() {
            tracing::warn!(left = tasks.len(), "connections were closed after the grace");
            tasks.abort_all();
        }
        let finishing = Arc::clone(&app);
        let _ = tokio::task::spawn_blocking(move || finishing.end()).await;
        tracing::info!("ended");
    }
}

/// A connection among the open ones, until it is dropped.
struct Own {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
    number: u64,
}

impl Own {
    fn enter(connections: &Arc<Connections>, number: u64) -> Self {
        let connection = Arc::new(Connection::default());
        connections.lock().insert(number, Arc::clone(&connection));
        Self { connections: Arc::clone(connections), connection, number }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.number);
    }
}

/// Counts a request as long as it lives.
struct Busy(Arc<Connection>);

impl Busy {
    fn enter(connection: &Arc<Connection>) -> Self {
        connection.busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(connection))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long an answer may take to be sent when the service ends.
const LAST_WORD: Duration = Duration::from_secs(2);

async fn serve(stream: TcpStream, router: Router, own: Own, app: Arc<App>) {
    let _ = stream.set_nodelay(true);
    let connection = Arc::clone(&own.connection);
    let service = tower_service(router, Arc::clone(&connection));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(app.settings.limits.head)
        .max_buf_size(1 << 16);
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    let mut ending = app.ending.subscribe();
    let mut told = false;
    loop {
        tokio::select! {
            _ = &mut serving => return,
            // Whoever has not even asked yet is not waited for.
            () = sleep(LAST_WORD), if told && connection.busy.load(Ordering::Relaxed) == 0 => return,
            () = connection.evicted.notified() => {
                app.refused_connections.add(1);
                return;
            }
            _ = ending.wait_for(|ending| *ending), if !told => {
                told = true;
                serving.as_mut().graceful_shutdown();
            }
        }
    }
}

/// The router as hyper calls it, with requests counted.
fn tower_service(
    router: Router,
    connection: Arc<Connection>,
) -> impl hyper::service::Service<
    Request<hyper::body::Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future: Send,
> {
    let inner = TowerToHyperService::new(router);
    hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
        let busy = Busy::enter(&connection);
        let answer = hyper::service::Service::call(&inner, request.map(Body::new));
        async move {
            let answer = answer.await;
            drop(busy);
            answer
        }
    })
}
