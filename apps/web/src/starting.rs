//! What a service answers while its database is away at the start: probes, and to all else that it is not available yet.

use crate::site::Site;
use crate::{Family, Kind, Problem, Wrap, listen, wrap};
use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use hyper_util::service::TowerToHyperService;
use metrics_exporter_prometheus::PrometheusHandle;
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Requests under way when the service has opened may take so long to finish.
const PATIENCE: Duration = Duration::from_secs(2);

/// The routes of a service that is not open yet. `missing` says what it waits for, in one sentence.
///
/// # Errors
/// As [`wrap()`].
pub fn starting<A: Site + 'static, F: Family>(
    missing: watch::Receiver<String>,
    prometheus: PrometheusHandle,
    with: Wrap<'_, F>,
) -> anyhow::Result<Router> {
    let refuse = move || {
        let missing = missing.clone();
        async move { refused(&missing) }
    };
    let routes = Router::new()
        .route("/healthz", get(crate::probes::healthz))
        .route("/metrics", get(async move || crate::metrics::render(&prometheus)))
        .route("/assets/{file}", get(crate::asset::give::<A>))
        .route("/", any(refuse.clone()))
        .route("/{*rest}", any(refuse));
    wrap(routes, with)
}

fn refused(missing: &watch::Receiver<String>) -> Response {
    let detail =
        format!("Not ready: {}. The service tries again every second.", missing.borrow().trim_end_matches('.'));
    Problem::new(Kind::UNAVAILABLE, detail).into_response()
}

/// Answers with `router` until `opening` ends; gives the listener back. Connections that come in between wait in its backlog.
///
/// # Errors
/// The listener cannot be duplicated.
pub async fn serve_while<T>(
    listener: TcpListener,
    router: Router,
    opening: impl Future<Output = T>,
) -> io::Result<(TcpListener, T)> {
    let listener = listener.into_std()?;
    let copy = TcpListener::from_std(listener.try_clone()?)?;
    let (opened, is_open) = tokio::sync::oneshot::channel::<()>();
    let serving = listen(copy, TowerToHyperService::new(router), async { drop(is_open.await) }, PATIENCE);
    let (_, result) = tokio::join!(serving, async {
        let result = opening.await;
        drop(opened);
        result
    });
    Ok((TcpListener::from_std(listener)?, result))
}
