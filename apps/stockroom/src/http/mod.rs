//! The service over HTTP: routes, and what is told when something cannot be done.

mod app;
mod arrivals;
mod audit;
mod body;
mod kind;
mod openapi;
mod orders;
mod probes;
mod products;
mod refusal;
mod route;

pub(crate) use app::App;
pub(crate) use body::{day, page, strategy};
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
use web::{HttpMetrics, Note, OwnAddress, Settings, Waiting, Wrap, site};

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
    let upkeep = tokio::spawn(web::keep_metrics_up(settings.prometheus.clone()));
    let app = App { service, prometheus: settings.prometheus };
    let router = router(app, own, settings.public_url.as_ref())?;
    web::listen(listener, TowerToHyperService::new(router), stop, STOP_PATIENCE).await;
    upkeep.abort();
    Ok(())
}

/// The routes of a service that is not open yet; see [`web::starting()`].
///
/// # Errors
/// The public address cannot be used.
pub(crate) fn starting(waiting: &Waiting<'_>, note: Note) -> anyhow::Result<Router> {
    let Waiting { address, settings, missing } = waiting;
    let public_url = settings.public_url.as_ref();
    let (own, metrics) = (OwnAddress::new(*address, public_url.cloned()), Arc::new(HttpMetrics::<Route>::register()));
    // Nothing that its pages link to is there yet.
    let problem_page = site::problem_for_visitors::<Assets>;
    let wrap = Wrap { problem_page, ..Wrap::site::<Assets>(own, public_url, metrics) };
    web::starting::<Assets, Route>(missing.clone(), note, settings.prometheus.clone(), wrap)
}

fn router(app: App, own: OwnAddress, public_url: Option<&Url>) -> anyhow::Result<Router> {
    let (api, document) = openapi::routes().split_for_parts();
    let json = document.to_pretty_json()?;
    let documentation = site::documentation::<Assets, _>(json, &document, kind::OWN, &own.base());
    let wrap = Wrap::site::<Assets>(own, public_url, Arc::new(HttpMetrics::<Route>::register()));
    Ok(web::wrap(api.merge(pages::routes()).merge(documentation), wrap)?.with_state(app))
}
