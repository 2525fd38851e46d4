//! The middleware around every router: request ids, logs and metrics, security headers, problem documents, timeouts, body limits,
//! CSRF and host checks.

mod consistency;
mod observe;
mod security_headers;

pub use consistency::Consistency;
pub use observe::{Changed, X_CONSISTENCY_STATE};
pub use security_headers::set_nosniff;

use crate::metrics::{HttpMetrics, RouteGroup};
use crate::pages::site::{self, Site};
use crate::problems::negotiate::negotiate;
use crate::requests::host::reject_foreign_host;
use crate::{OwnAddress, Problem};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use maud::Markup;
use observe::observe;
use security_headers::security_headers;
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::timeout::TimeoutLayer;
use url::Url;

/// Maximum size of a request's body.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

/// From the end of the request's head to the head of the response. Longer than every timeout of the handlers, so that theirs expire
/// first and say what was slow.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Options of [`wrap`].
pub struct Wrap<'a, G: RouteGroup> {
    /// The addresses under which this service is reached.
    pub own: OwnAddress,
    /// The public URL, if it is configured: forms of that origin are accepted.
    pub public_url: Option<&'a Url>,
    /// The metrics of the requests.
    pub metrics: Arc<HttpMetrics<G>>,
    /// Renders a problem for a browser.
    pub problem_page: fn(&Problem) -> Markup,
    /// Renders a problem for a visitor's browser; see [`RouteGroup::is_for_visitors`].
    pub visitor_page: fn(&Problem) -> Markup,
}

impl<'a, G: RouteGroup> Wrap<'a, G> {
    /// Options with the problem pages of the site `A`.
    #[must_use]
    pub fn site<A: Site>(own: OwnAddress, public_url: Option<&'a Url>, metrics: Arc<HttpMetrics<G>>) -> Self {
        let (problem_page, visitor_page) = (site::problem::<A>, site::problem_for_visitors::<A>);
        Self { own, public_url, metrics, problem_page, visitor_page }
    }
}

/// Adds the middleware to `routes`.
///
/// # Errors
/// The public URL has no origin.
pub fn wrap<S, G>(routes: Router<S>, with: Wrap<'_, G>) -> anyhow::Result<Router<S>>
where
    S: Clone + Send + Sync + 'static,
    G: RouteGroup,
{
    let mut same_site = CsrfLayer::new();
    if let Some(url) = with.public_url {
        same_site = same_site.add_trusted_origin(url.origin().ascii_serialization())?;
    }
    let outermost_first = ServiceBuilder::new()
        .layer(from_fn_with_state(with.metrics, observe::<G>))
        .layer(from_fn(security_headers))
        .layer(from_fn_with_state((with.problem_page, with.visitor_page), negotiate::<G>))
        .layer(CatchPanicLayer::new())
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, REQUEST_TIMEOUT))
        .layer(from_fn_with_state(with.own, reject_foreign_host::<G>))
        .layer(same_site)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    Ok(routes
        .fallback(async || StatusCode::NOT_FOUND)
        .method_not_allowed_fallback(async || StatusCode::METHOD_NOT_ALLOWED)
        .layer(outermost_first))
}
