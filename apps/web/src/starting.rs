//! What a service answers while its database is away at the start: probes, and to all else that it is not available yet.

use crate::site::Site;
use crate::{Family, Kind, Problem, Wrap, listen, wrap};
use axum::Router;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use hyper_util::service::TowerToHyperService;
use metrics_exporter_prometheus::PrometheusHandle;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Requests under way when the service has opened may take so long to finish.
const PATIENCE: Duration = Duration::from_secs(2);

/// What there is to say beyond what the database said, as it is now.
pub type Note = Arc<dyn Fn() -> String + Send + Sync>;

/// The routes of a service that is not open yet. `missing` says what it waits for, in one sentence.
///
/// # Errors
/// As [`wrap()`].
pub fn starting<A: Site + 'static, F: Family>(
    missing: watch::Receiver<String>,
    note: Note,
    prometheus: PrometheusHandle,
    with: Wrap<'_, F>,
) -> anyhow::Result<Router> {
    let refuse = move || {
        let refused = refused(&missing, &note());
        async move { refused }
    };
    let routes = Router::new()
        .route("/healthz", get(crate::probes::healthz))
        .route("/metrics", get(async move || crate::metrics::render(&prometheus)))
        .route("/assets/{file}", get(crate::asset::give::<A>))
        .route("/", any(refuse.clone()))
        .route("/{*rest}", any(refuse));
    wrap(routes, with)
}

fn refused(missing: &watch::Receiver<String>, note: &str) -> Response {
    let missing = missing.borrow();
    let missing = missing.trim_end_matches('.');
    let detail = format!("Not ready: {missing}. The service tries again every second. {note}");
    Problem::new(Kind::UNAVAILABLE, detail.trim_end()).into_response()
}

/// Adds `missing` and `note` to each answer of `routes` that says that something is unavailable: every reader learns what is missing.
pub fn tell_missing<S: Clone + Send + Sync + 'static>(
    routes: Router<S>,
    missing: watch::Receiver<String>,
    note: Note,
) -> Router<S> {
    routes.layer(map_response(move |response: Response| {
        let known = response.extensions().get::<Problem>().filter(|problem| problem.kind() == Kind::UNAVAILABLE);
        let told = known.map(|problem| {
            let missing = missing.borrow();
            let missing = missing.trim_end_matches('.');
            let detail = format!("{} Since this instance started: {missing}. {}", problem.detail(), note());
            Problem::new(Kind::UNAVAILABLE, detail.trim_end())
        });
        ready(told.map_or(response, IntoResponse::into_response))
    }))
}

/// Answers with `router` until `opening` ends. Connections that come in afterwards wait in the listener's backlog, if it was
/// duplicated before.
pub async fn serve_while<T>(listener: TcpListener, router: Router, opening: impl Future<Output = T>) -> T {
    let (opened, is_open) = tokio::sync::oneshot::channel::<()>();
    let serving = listen(listener, TowerToHyperService::new(router), async { drop(is_open.await) }, PATIENCE);
    let (_, result) = tokio::join!(serving, async {
        let result = opening.await;
        drop(opened);
        result
    });
    result
}
