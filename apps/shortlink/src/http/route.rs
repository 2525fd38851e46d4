//! [`Route`]: the groups of paths that metrics count together.

use web::RouteGroup;

/// A group of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/{code}`, also with a slash at the end
    Redirect,
    /// `/api/...`
    Api,
    /// The page and its assets.
    Page,
    /// Health, readiness, metrics.
    Probe,
    /// Paths without a route.
    Unknown,
}

impl RouteGroup for Route {
    const ALL: &'static [(Self, &'static str)] = &[
        (Route::Redirect, "redirect"),
        (Route::Api, "api"),
        (Route::Page, "page"),
        (Route::Probe, "probe"),
        (Route::Unknown, "unknown"),
    ];
    const REQUESTS: &'static str = "shortlink_http_requests_total";
    const SECONDS: &'static str = "shortlink_http_request_seconds";

    fn of(matched: Option<&str>) -> Self {
        match matched {
            None => Route::Unknown,
            Some("/{code}" | "/{code}/") => Route::Redirect,
            Some("/healthz" | "/readyz" | "/metrics") => Route::Probe,
            Some(path) if path.starts_with("/api/") => Route::Api,
            Some(_) => Route::Page,
        }
    }

    fn is_for_visitors(self) -> bool {
        matches!(self, Route::Redirect | Route::Unknown)
    }

    /// Redirects and probes are public, so they are served under any `Host`.
    fn is_public(self) -> bool {
        matches!(self, Route::Redirect | Route::Probe)
    }

    fn is_frequent(self) -> bool {
        self == Route::Redirect
    }
}
