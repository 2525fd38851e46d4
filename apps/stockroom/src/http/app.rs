//! [`App`]: the state of all handlers.

use crate::service::Service;
use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;

/// The state of all handlers; cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    /// The use cases.
    pub(crate) service: Service,
    /// Renders `/metrics`.
    pub(crate) prometheus: PrometheusHandle,
}

impl FromRef<App> for PrometheusHandle {
    fn from_ref(app: &App) -> Self {
        app.prometheus.clone()
    }
}
