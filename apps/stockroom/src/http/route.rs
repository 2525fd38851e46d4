//! [`Route`]: the route groups of the metrics.

use web::RouteGroup;

/// A route group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/api/...`
    Api,
    /// The page, its assets and the documentation.
    Page,
    /// Health, readiness, metrics.
    Probe,
    /// No route matched.
    Unknown,
}

impl RouteGroup for Route {
    const ALL: &'static [(Self, &'static str)] =
        &[(Route::Api, "api"), (Route::Page, "page"), (Route::Probe, "probe"), (Route::Unknown, "unknown")];
    const REQUESTS: &'static str = "stockroom_http_requests_total";
    const SECONDS: &'static str = "stockroom_http_request_seconds";

    fn of(matched: Option<&str>) -> Self {
        match matched {
            None => Route::Unknown,
            Some("/healthz" | "/readyz" | "/metrics") => Route::Probe,
            Some(path) if path.starts_with("/api/") => Route::Api,
            Some(_) => Route::Page,
        }
    }

    fn is_public(self) -> bool {
        self == Route::Probe
    }
}
