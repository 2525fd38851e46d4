//! [`App`]: what every handler can reach.

use super::kind::INVALID_INPUT;
use crate::service::Service;
use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;
use web::{Kind, Refuses};

/// What every handler can reach; cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    /// The use cases.
    pub(crate) service: Service,
    /// What `/metrics` shows.
    pub(crate) prometheus: PrometheusHandle,
}

impl FromRef<App> for PrometheusHandle {
    fn from_ref(app: &App) -> Self {
        app.prometheus.clone()
    }
}

impl Refuses for App {
    const INVALID: Kind = INVALID_INPUT;
}
