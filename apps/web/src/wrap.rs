//! What goes around the routes of a service, outermost first.

use crate::host::refuse_foreign;
use crate::metrics::{Family, HttpMetrics};
use crate::negotiate::negotiate;
use crate::observe::observe;
use crate::secure::secure;
use crate::site::{self, Site};
use crate::{OwnAddress, Problem};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use maud::Markup;
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::timeout::TimeoutLayer;
use url::Url;

/// The largest body of any request.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

/// From the end of a request's head to the head of its answer. Longer than any time-out behind it, so that those speak first.
const REQUEST_PATIENCE: Duration = Duration::from_secs(30);

/// What [`wrap`] is told.
pub struct Wrap<'a, F: Family> {
    /// Where the service is reached.
    pub own: OwnAddress,
    /// What the outside calls this service, if it is set: forms may come from there, too.
    pub public_url: Option<&'a Url>,
    /// Where requests are counted.
    pub metrics: Arc<HttpMetrics<F>>,
    /// A problem as a page, for those who asked for one.
    pub problem_page: fn(&Problem) -> Markup,
    /// The same for visitors; see [`Family::is_for_visitors`].
    pub visitor_page: fn(&Problem) -> Markup,
}

impl<'a, F: Family> Wrap<'a, F> {
    /// With the pages of the application `A` for problems.
    #[must_use]
    pub fn site<A: Site>(own: OwnAddress, public_url: Option<&'a Url>, metrics: Arc<HttpMetrics<F>>) -> Self {
        let (problem_page, visitor_page) = (site::problem::<A>, site::problem_for_visitors::<A>);
        Self { own, public_url, metrics, problem_page, visitor_page }
    }
}

/// Puts around `routes` what every service has: short ids, logs and counters, headers for browsers, problems for errors, a bound
/// of time and of size, no forms from other sites, no foreign hosts.
///
/// # Errors
/// The public address cannot be an origin.
pub fn wrap<S, F>(routes: Router<S>, with: Wrap<'_, F>) -> anyhow::Result<Router<S>>
where
    S: Clone + Send + Sync + 'static,
    F: Family,
{
    let mut same_site = CsrfLayer::new();
    if let Some(url) = with.public_url {
        same_site = same_site.add_trusted_origin(url.origin().ascii_serialization())?;
    }
    let outermost_first = ServiceBuilder::new()
        .layer(from_fn_with_state(with.metrics, observe::<F>))
        .layer(from_fn(secure))
        .layer(from_fn_with_state((with.problem_page, with.visitor_page), negotiate::<F>))
        .layer(CatchPanicLayer::new())
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, REQUEST_PATIENCE))
        .layer(from_fn_with_state(with.own, refuse_foreign::<F>))
        .layer(same_site)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    Ok(routes
        .fallback(async || StatusCode::NOT_FOUND)
        .method_not_allowed_fallback(async || StatusCode::METHOD_NOT_ALLOWED)
        .layer(outermost_first))
}
