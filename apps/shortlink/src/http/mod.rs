//! The HTTP server: routes, middleware and connections.

pub mod api;
mod app;
mod fast_path;
mod kind;
mod openapi;
mod probes;
mod problem;
mod redirect;
mod route;

pub(crate) use app::App;
use fast_path::FastPath;
pub(crate) use kind::VERSION_CONFLICT;
pub(crate) use problem::{invalid_page, unknown_code};
use route::Route;

use crate::page::{self, Assets};
use crate::service::Service;
use axum::Router;
use axum::routing::get;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use url::Url;
use web::{HttpMetrics, Outage, OwnAddress, Settings, StatusNote, Wrap, site};

/// The largest `max-age` of a redirect: bounds how long a browser misses an edit, and spares repeated requests of one page.
const REDIRECT_AGE_MAX: Duration = Duration::from_secs(10);

/// How long in-flight requests may take once the service is asked to stop.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// How long the append of buffered clicks may take after that.
const CLICKS_GRACE: Duration = Duration::from_secs(5);

/// Answers requests until `stop` is ready, then finishes the requests in flight.
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
    web::listen(listener, FastPath::new(app, metrics, router), stop, STOP_GRACE).await;
    // A write whose client has hung up is finished as well, within the same bound.
    let _ = tokio::time::timeout(STOP_GRACE, service.writes_ended()).await;
    if tokio::time::timeout(CLICKS_GRACE, service.clicks_appended()).await.is_err() {
        tracing::warn!("Redis is unreachable, so the clicks that wait in this process are lost");
    }
    upkeep.abort();
    Ok(())
}

/// The routes of a service whose database is unreachable. A refusal names what is missing, and includes `note`.
///
/// # Errors
/// The public URL cannot be used.
pub(crate) fn without_database(service: Service, outage: &Outage<'_>, note: StatusNote) -> anyhow::Result<Router> {
    let Outage { address, settings, cause } = outage;
    let own = OwnAddress::new(*address, settings.public_url.clone());
    let app = app(service, own, settings);
    let metrics = Arc::new(HttpMetrics::<Route>::register());
    let explain = |routes| web::explain_unavailable(routes, cause.clone(), note);
    router(app, settings.public_url.as_ref(), metrics, explain)
}

fn app(service: Service, own: OwnAddress, settings: &Settings) -> App {
    App { service, own, prometheus: settings.prometheus.clone(), redirect_age_max: REDIRECT_AGE_MAX }
}

/// All routes with their middleware; `inner` is the innermost layer.
fn router(
    app: App,
    public_url: Option<&Url>,
    metrics: Arc<HttpMetrics<Route>>,
    inner: impl FnOnce(Router<App>) -> Router<App>,
) -> anyhow::Result<Router> {
    let (api, document) = openapi::routes().split_for_parts();
    let json = document.to_pretty_json()?;
    let documentation = site::documentation::<Assets, _>(json, &document, kind::OWN, &app.own.base());
    let wrap = Wrap::site::<Assets>(app.own.clone(), public_url, metrics);
    let pages = page::routes().fold(api, |routes, (path, handlers)| routes.route(path, handlers));
    // A slash at the end leads where the code leads. The document of the API does not list it.
    let routes = pages.route("/{code}/", get(redirect::follow)).merge(documentation);
    Ok(web::wrap(inner(routes), wrap)?.with_state(app))
}

#[cfg(test)]
mod tests {
    use super::{openapi, page};
    use crate::domain::{Code, InvalidCode};

    /// Regression: a link with the alias `links` was created, and its URL answered 405.
    // shows: hazard S33
    #[test]
    fn first_segment_of_every_route_is_reserved() {
        let document = openapi::routes().into_openapi();
        let pages = page::routes().map(|(path, _)| path.to_owned());
        let paths = document.paths.paths.into_keys().chain(pages).chain(["/docs", "/openapi.json"].map(str::to_owned));
        let firsts = paths.filter_map(|path| path.split('/').nth(1).map(str::to_owned));
        let words: Vec<_> = firsts.filter(|first| !first.is_empty() && !first.starts_with('{')).collect();
        assert!(words.len() > 10, "{words:?}");
        for word in words {
            assert_eq!(Code::alias(&word), Err(InvalidCode::Reserved(word)));
        }
    }
}
