//! The service over HTTP: routes, what wraps them, and the connections they come in on.

mod app;
mod body;
pub mod bulk;
mod etag;
mod extract;
mod front;
mod host;
mod kind;
mod links;
mod listen;
mod metrics;
mod negotiate;
mod observe;
mod openapi;
mod patience;
mod probes;
mod problem;
mod redirect;
mod refusal;
mod secure;
mod short_id;
mod signals;

pub(crate) use app::App;
pub(crate) use extract::{Form, Query};
use front::Front;
pub(crate) use host::Host;
pub(crate) use host::OwnAddress;
pub(crate) use kind::Kind;
use metrics::HttpMetrics;
pub use metrics::install as install_metrics;
pub(crate) use observe::Changed;
pub(crate) use problem::Problem;
pub(crate) use refusal::unknown_code;
pub use signals::stop_requested;

use crate::page;
use crate::service::Service;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::timeout::TimeoutLayer;
use url::Url;

/// The largest body of any request.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

/// From the end of a request's head to the head of its answer. Longer than any time-out behind it, so that those speak first.
const REQUEST_PATIENCE: Duration = Duration::from_secs(30);

/// How long a browser may keep a redirect without asking again: an edit reaches everybody within this time, and a page that
/// loads the same short link many times asks once.
const REDIRECT_AGE_MAX: Duration = Duration::from_secs(10);

/// How long requests under way may take to finish once the service is asked to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// How often the recorder folds what was measured, so that its memory is bounded even if nobody reads it.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// What the HTTP side is told beside its service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the outside calls this service, as in `https://s.example.com`; without it, what each request calls it.
    pub public_url: Option<Url>,
    /// What `/metrics` shows; see [`install_metrics`].
    pub prometheus: PrometheusHandle,
}

/// Answers requests until `stop` is ready, then finishes those that are under way.
///
/// # Errors
/// The listener has no address, or the settings cannot be used.
pub async fn serve(
    service: Service,
    listener: TcpListener,
    settings: Settings,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let own = OwnAddress::new(listener.local_addr()?, settings.public_url.clone());
    let upkeep = tokio::spawn(keep_up(settings.prometheus.clone()));
    let app =
        App { service: service.clone(), own, prometheus: settings.prometheus, redirect_age_max: REDIRECT_AGE_MAX };
    let metrics = Arc::new(HttpMetrics::register());
    let router = router(app.clone(), settings.public_url.as_ref(), Arc::clone(&metrics))?;
    listen::listen(listener, Front::new(app, metrics, router), stop, STOP_PATIENCE).await;
    // A write that outlives its client's patience is still brought to its end, within the same bound.
    let _ = tokio::time::timeout(STOP_PATIENCE, service.writes_ended()).await;
    upkeep.abort();
    Ok(())
}

fn router(app: App, public_url: Option<&Url>, metrics: Arc<HttpMetrics>) -> anyhow::Result<Router> {
    let (api, document) = openapi::routes().split_for_parts();
    let json = openapi::json(&document);
    let docs = page::docs(&document);
    let own_pages = page::routes()
        .route("/openapi.json", get(async move || ([(header::CONTENT_TYPE, "application/json")], json)))
        .route("/docs", get(async move || docs));
    let mut same_site = CsrfLayer::new();
    if let Some(url) = public_url {
        same_site = same_site.add_trusted_origin(url.origin().ascii_serialization())?;
    }
    let outermost_first = ServiceBuilder::new()
        .layer(from_fn_with_state(metrics, observe::observe))
        .layer(from_fn(secure::secure))
        .layer(from_fn(negotiate::negotiate))
        .layer(CatchPanicLayer::new())
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, REQUEST_PATIENCE))
        .layer(from_fn_with_state(app.own.clone(), host::refuse_foreign))
        .layer(same_site)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    Ok(api
        .merge(own_pages)
        .fallback(async || StatusCode::NOT_FOUND)
        .method_not_allowed_fallback(async || StatusCode::METHOD_NOT_ALLOWED)
        .layer(outermost_first)
        .with_state(app))
}

async fn keep_up(prometheus: PrometheusHandle) {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP);
    loop {
        ticks.tick().await;
        prometheus.run_upkeep();
    }
}
