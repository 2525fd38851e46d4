//! Connections: accepting them, their limits and timeouts, and graceful shutdown.
//!
//! axum's `serve` has no timeout for a request's head: a slow client could hold a connection forever.

mod connection_limit;
mod explained;
mod head_timer;

use axum::http::Request;
use axum::response::Response;
use connection_limit::{ConnectionLimit, Slot};
use explained::Explained;
use head_timer::HeadTimer;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tracing::{debug, info, warn};

/// A request's head must arrive within this time; also the keep-alive timeout of an idle connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The same for a connection in a reserve slot.
const RESERVE_HEAD_TIMEOUT: Duration = Duration::from_millis(500);

/// The pause after a failed `accept`: the usual cause, no free file descriptors, lasts.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The service behind all connections; cheap to clone. hyper-util's `TowerToHyperService` turns a router into one.
pub trait Front:
    Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

impl<T> Front for T where
    T: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

/// Serves connections until `stop` completes. Then it accepts no more, waits at most `shutdown_timeout` for the requests in flight, and
/// returns whether all of them completed.
pub async fn listen(
    listener: TcpListener,
    front: impl Front,
    stop: impl Future<Output = ()>,
    shutdown_timeout: Duration,
) -> bool {
    let limit = ConnectionLimit::for_this_process();
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            (stream, slot) = accept(&listener, &limit) => {
                let connection = connection(stream, front.clone(), slot.is_reserve);
                let watched = graceful.watch(connection);
                tokio::spawn(async move {
                    if let Err(error) = watched.await {
                        debug!(%error, "connection closed early");
                    }
                    drop(slot);
                });
            }
        }
    }
    drop(listener);
    info!(connections = graceful.count(), "shutting down: waiting for requests in flight");
    let finished = tokio::time::timeout(shutdown_timeout, graceful.shutdown()).await.is_ok();
    if !finished {
        warn!(seconds = shutdown_timeout.as_secs(), "shutdown timed out: dropping the remaining requests");
    }
    finished
}

#[expect(clippy::disallowed_methods, reason = "backoff after a failed accept")]
async fn accept(listener: &TcpListener, limit: &ConnectionLimit) -> (TcpStream, Slot) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, limit.acquire(peer.ip()).await),
            Err(error) => {
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn connection<F: Front>(
    stream: TcpStream,
    front: F,
    is_reserve: bool,
) -> http1::Connection<TokioIo<Explained<TcpStream>>, F> {
    // Nagle's algorithm would delay the last small packet of a response until the client acknowledges the previous one.
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "cannot set TCP_NODELAY");
    }
    http1::Builder::new()
        // A client that has sent its request may close its side and wait for the response.
        .half_close(true)
        .timer(HeadTimer::default())
        .header_read_timeout(if is_reserve { RESERVE_HEAD_TIMEOUT } else { HEAD_TIMEOUT })
        .keep_alive(!is_reserve)
        .serve_connection(TokioIo::new(Explained::new(stream)), front)
}
