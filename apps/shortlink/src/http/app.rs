//! [`App`]: what every handler can reach.

use crate::service::Service;
use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;
use std::time::Duration;
use web::{InvalidInput, Kind, OwnAddress};

/// What every handler can reach; cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    /// The use cases.
    pub(crate) service: Service,
    /// Where the service is reached.
    pub(crate) own: OwnAddress,
    /// What `/metrics` shows.
    pub(crate) prometheus: PrometheusHandle,
    /// How long a browser may keep a redirect without asking again.
    pub(crate) redirect_age_max: Duration,
}

impl FromRef<App> for PrometheusHandle {
    fn from_ref(app: &App) -> Self {
        app.prometheus.clone()
    }
}

impl InvalidInput for App {
    const KIND: Kind = Kind::INVALID_INPUT;
}
