//! [`App`]: the state of the handlers.

use crate::service::Service;
use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;
use std::time::Duration;
use web::OwnAddress;

/// The state of the handlers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    /// The use cases.
    pub(crate) service: Service,
    /// The addresses of this service.
    pub(crate) own: OwnAddress,
    /// The source of `/metrics`.
    pub(crate) prometheus: PrometheusHandle,
    /// The largest `max-age` of a redirect.
    pub(crate) redirect_age_max: Duration,
}

impl FromRef<App> for PrometheusHandle {
    fn from_ref(app: &App) -> Self {
        app.prometheus.clone()
    }
}
