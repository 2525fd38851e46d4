//! The responses of a service whose database is unreachable at startup: probes work, everything else is 503 with the reason.

use crate::pages::site::Site;
use crate::{Kind, Problem, RouteGroup, Wrap, listen, wrap};
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

/// How long requests in flight may take when the database becomes reachable.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Additional text for the problem's detail, evaluated for each response.
pub type StatusNote = Arc<dyn Fn() -> String + Send + Sync>;

/// The routes of a service whose database is unreachable. `cause` is the error of the last attempt to open the database.
///
/// # Errors
/// As [`wrap()`].
pub fn unavailable_routes<A: Site + 'static, G: RouteGroup>(
    cause: watch::Receiver<String>,
    note: StatusNote,
    prometheus: PrometheusHandle,
    with: Wrap<'_, G>,
) -> anyhow::Result<Router> {
    let reject = move || {
        let response = unavailable(&cause, &note());
        async move { response }
    };
    let routes = Router::new()
        .route("/healthz", get(crate::probes::healthz))
        .route("/metrics", get(async move || crate::metrics::render(&prometheus)))
        .route("/assets/{file}", get(crate::pages::asset::serve::<A>))
        .route("/", any(reject.clone()))
        .route("/{*rest}", any(reject));
    wrap(routes, with)
}

fn unavailable(cause: &watch::Receiver<String>, note: &str) -> Response {
    let cause = cause.borrow();
    let cause = cause.trim_end_matches('.');
    let detail = format!("Not ready: {cause}. The service retries every second. {note}");
    Problem::new(Kind::UNAVAILABLE, detail.trim_end()).into_response()
}

/// Adds `cause` and `note` to every "unavailable" problem of `routes`.
pub fn explain_unavailable<S: Clone + Send + Sync + 'static>(
    routes: Router<S>,
    cause: watch::Receiver<String>,
    note: StatusNote,
) -> Router<S> {
    routes.layer(map_response(move |response: Response| {
        let problem = response.extensions().get::<Problem>().filter(|problem| problem.kind() == Kind::UNAVAILABLE);
        let explained = problem.map(|problem| {
            let cause = cause.borrow();
            let cause = cause.trim_end_matches('.');
            let detail = format!("{} Since this instance started: {cause}. {}", problem.detail(), note());
            Problem::new(Kind::UNAVAILABLE, detail.trim_end())
        });
        ready(explained.map_or(response, IntoResponse::into_response))
    }))
}

/// Serves `router` until `end` completes. Later connections wait in the listener's backlog, if the listener was duplicated before.
pub async fn serve_until<T>(listener: TcpListener, router: Router, end: impl Future<Output = T>) -> T {
    let (ended, has_ended) = tokio::sync::oneshot::channel::<()>();
    let front = TowerToHyperService::new(router);
    let serving = listen(listener, front, async { drop(has_ended.await) }, SHUTDOWN_TIMEOUT);
    let (_, result) = tokio::join!(serving, async {
        let result = end.await;
        drop(ended);
        result
    });
    result
}
