//! The HTTP server: routes, middleware and problems.

mod api;
mod app;
mod errors;
mod kind;
mod openapi;
mod probes;
mod route;

pub(crate) use api::{day, page, strategy};
pub(crate) use app::App;
use route::Route;

use crate::page::{self as pages, Assets};
use crate::service::Service;
use axum::Router;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use url::Url;
use web::{HttpMetrics, Outage, OwnAddress, Settings, StatusNote, Wrap, site};

/// How long a shutdown waits for requests in flight.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves requests until `stop` completes, then waits for those in flight.
///
/// # Errors
/// The listener has no address, or the public URL has no origin.
pub async fn serve(
    service: Service,
    listener: TcpListener,
    settings: Settings,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let own = OwnAddress::new(listener.local_addr()?, settings.public_url.clone());
    let upkeep = tokio::spawn(web::run_metrics_upkeep(settings.prometheus.clone()));
    let app = App { service, prometheus: settings.prometheus };
    let router = router(app, own, settings.public_url.as_ref())?;
    web::listen(listener, TowerToHyperService::new(router), stop, SHUTDOWN_TIMEOUT).await;
    upkeep.abort();
    Ok(())
}

/// The routes while the database is unreachable; see [`web::unavailable_routes()`].
///
/// # Errors
/// The public URL has no origin.
pub(crate) fn unavailable(outage: &Outage<'_>, note: StatusNote) -> anyhow::Result<Router> {
    let Outage { address, settings, cause } = outage;
    let public_url = settings.public_url.as_ref();
    let (own, metrics) = (OwnAddress::new(*address, public_url.cloned()), Arc::new(HttpMetrics::<Route>::register()));
    // The pages that an ordinary error page links to are unavailable.
    let problem_page = site::problem_for_visitors::<Assets>;
    let wrap = Wrap { problem_page, ..Wrap::site::<Assets>(own, public_url, metrics) };
    web::unavailable_routes::<Assets, Route>(cause.clone(), note, settings.prometheus.clone(), wrap)
}

fn router(app: App, own: OwnAddress, public_url: Option<&Url>) -> anyhow::Result<Router> {
    let (api, document) = openapi::routes().split_for_parts();
    let json = document.to_pretty_json()?;
    let documentation = site::documentation::<Assets, _>(json, &document, kind::OWN, &own.base());
    let wrap = Wrap::site::<Assets>(own, public_url, Arc::new(HttpMetrics::<Route>::register()));
    Ok(web::wrap(api.merge(pages::routes()).merge(documentation), wrap)?.with_state(app))
}
