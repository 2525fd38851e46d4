//! Connections: accepted, bounded in number and in patience, and ended gracefully.
//!
//! axum's own `serve` has no time-out for a request's head, so a client that dribbles bytes would hold a connection for ever.

use crate::patience::HeadTimer;
use crate::room::{Place, Room};
use axum::http::Request;
use axum::response::Response;
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

/// A request's head must be complete in this time, which is also how long an idle connection is kept.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// The same for a connection of the reserve, whose request must follow it at once.
const BRIEF_PATIENCE: Duration = Duration::from_millis(500);

/// After a failed `accept` (out of files, usually) another one soon would fail as well.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What answers the requests of all connections; cheap to clone. A router becomes one with hyper-util's `TowerToHyperService`.
pub trait Front:
    Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

impl<T> Front for T where
    T: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

/// Serves connections until `stop` is ready; then accepts no more, lets requests under way finish for at most `patience`, and
/// answers whether all of them did.
pub async fn listen(
    listener: TcpListener,
    front: impl Front,
    stop: impl Future<Output = ()>,
    patience: Duration,
) -> bool {
    let room = Room::for_this_process();
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            (stream, place) = next(&listener, &room) => {
                let connection = connection(stream, front.clone(), place.is_brief);
                let watched = graceful.watch(connection);
                tokio::spawn(async move {
                    if let Err(error) = watched.await {
                        debug!(%error, "connection ended early");
                    }
                    drop(place);
                });
            }
        }
    }
    drop(listener);
    info!(connections = graceful.count(), "stopping: no new connections; requests under way are finished");
    let finished = tokio::time::timeout(patience, graceful.shutdown()).await.is_ok();
    if !finished {
        warn!(seconds = patience.as_secs(), "some requests were not finished in time and are dropped");
    }
    finished
}

#[expect(clippy::disallowed_methods, reason = "backoff after a failed accept")]
async fn next(listener: &TcpListener, room: &Room) -> (TcpStream, Place) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, room.place(peer.ip()).await),
            Err(error) => {
                warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn connection<F: Front>(stream: TcpStream, front: F, is_brief: bool) -> http1::Connection<TokioIo<TcpStream>, F> {
    // Without this the last small packet of an answer waits for the acknowledgement of the one before it.
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "TCP_NODELAY could not be set");
    }
    http1::Builder::new()
        .timer(HeadTimer::default())
        .header_read_timeout(if is_brief { BRIEF_PATIENCE } else { HEAD_PATIENCE })
        .keep_alive(!is_brief)
        .serve_connection(TokioIo::new(stream), front)
}
