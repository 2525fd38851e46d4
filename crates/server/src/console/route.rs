//! [`Route`]: the route groups of the metrics.

use web::RouteGroup;

/// A route group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Pages, forms, assets.
    Page,
    /// The JSON API.
    Api,
    /// Health and metrics.
    Probe,
    /// No route matched.
    Unknown,
}

impl RouteGroup for Route {
    const ALL: &'static [(Self, &'static str)] =
        &[(Route::Page, "page"), (Route::Api, "api"), (Route::Probe, "probe"), (Route::Unknown, "unknown")];
    const REQUESTS: &'static str = "evenkeel_console_requests_total";
    const SECONDS: &'static str = "evenkeel_console_request_seconds";

    fn of(matched: Option<&str>) -> Self {
        match matched {
            None => Route::Unknown,
            Some(path) if path.starts_with("/health/") || path == "/metrics" => Route::Probe,
            Some(path) if path.starts_with("/api/") => Route::Api,
            Some(_) => Route::Page,
        }
    }

    fn is_public(self) -> bool {
        // The console checks `Host` itself, on every route.
        true
    }
}
