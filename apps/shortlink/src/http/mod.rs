//! The service over HTTP: routes, what wraps them, and the connections they come in on.

mod app;
mod body;
pub mod bulk;
mod conflicts;
mod etag;
mod front;
mod kind;
mod links;
mod openapi;
mod probes;
mod redirect;
mod refusal;
mod route;

pub(crate) use app::App;
use front::Front;
pub(crate) use kind::VERSION_CONFLICT;
pub(crate) use refusal::{refused_page, unknown_code};
use route::Route;

use crate::page::{self, Assets};
use crate::service::Service;
use axum::Router;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use url::Url;
use web::{HttpMetrics, Outage, OwnAddress, Settings, StatusNote, Wrap, site};

/// How long a browser may keep a redirect without asking again: an edit reaches everybody within this time, and a page that
/// loads the same short link many times asks once.
const REDIRECT_AGE_MAX: Duration = Duration::from_secs(10);

/// How long requests under way may take to finish once the service is asked to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

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
    let upkeep = tokio::spawn(web::run_metrics_upkeep(settings.prometheus.clone()));
    let app = app(service.clone(), own, &settings);
    let metrics = Arc::new(HttpMetrics::<Route>::register());
    let router = router(app.clone(), settings.public_url.as_ref(), Arc::clone(&metrics), |routes| routes)?;
    web::listen(listener, Front::new(app, metrics, router), stop, STOP_PATIENCE).await;
    // A write that outlives its client's patience is still brought to its end, within the same bound.
    let _ = tokio::time::timeout(STOP_PATIENCE, service.writes_ended()).await;
    upkeep.abort();
    Ok(())
}

/// The routes of a service that has no database yet. Whoever is refused for that reason learns what is missing, and `note`.
///
/// # Errors
/// The public address cannot be used.
pub(crate) fn without_database(service: Service, waiting: &Outage<'_>, note: StatusNote) -> anyhow::Result<Router> {
    let Outage { address, settings, cause: missing } = waiting;
    let own = OwnAddress::new(*address, settings.public_url.clone());
    let app = app(service, own, settings);
    let metrics = Arc::new(HttpMetrics::<Route>::register());
    let tell = |routes| web::explain_unavailable(routes, missing.clone(), note);
    router(app, settings.public_url.as_ref(), metrics, tell)
}

fn app(service: Service, own: OwnAddress, settings: &Settings) -> App {
    App { service, own, prometheus: settings.prometheus.clone(), redirect_age_max: REDIRECT_AGE_MAX }
}

/// All routes; `inner` is the layer closest to them.
fn router(
    app: App,
    public_url: Option<&Url>,
    metrics: Arc<HttpMetrics<Route>>,
    inner: impl FnOnce(Router<App>) -> Router<App>,
) -> anyhow::Result<Router> {
    let (api, document) = openapi::routes().split_for_parts();
    let json = openapi::json(&document);
    let documentation = site::documentation::<Assets, _>(json, &document, kind::OWN, &app.own.base());
    let wrap = Wrap::site::<Assets>(app.own.clone(), public_url, metrics);
    let routes = api.merge(page::routes()).merge(documentation);
    Ok(web::wrap(inner(routes), wrap)?.with_state(app))
}
