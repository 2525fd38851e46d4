//! [`App`]: the state of all handlers.

use super::api::Api;
use super::collector::Collector;
use super::kind::outcome;
use super::operations::Operations;
use super::rights::Visitor;
use super::security::Security;
use super::security::audit::{Audit, Deed};
use super::source::Source;
use axum::Router;
use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;
use serde_json::{Value, json};
use std::future::Future;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;
use web::Problem;

/// The state of all handlers; cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) source: Arc<Source>,
    pub(crate) collector: Arc<Collector>,
    pub(crate) security: Arc<Security>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) operations: Arc<Operations>,
    pub(crate) api: Arc<Api>,
    pub(crate) prometheus: PrometheusHandle,
    /// All routes, for the page of a form that was rejected.
    pub(crate) router: Arc<OnceLock<Router>>,
    /// Becomes true at the shutdown, which ends event streams.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl App {
    /// The time of the store, in ms since 1970, as precisely as this process knows it.
    pub(crate) fn store_now(&self) -> u64 {
        self.source.keel.link().map_or_else(|| self.collector.now(), evenkeel::link::Link::server_now_ms)
    }

    /// Does something, written to the audit log before and after it. `act` returns what it did.
    pub(crate) async fn act<R: Serialize>(
        &self,
        visitor: &Visitor,
        action: &'static str,
        target: Value,
        act: impl Future<Output = Result<R, Problem>>,
    ) -> Result<R, Problem> {
        let deed = Deed { source: self.source.name(), action, target };
        let begun = self.audit.begin(visitor, &deed).map_err(|error| {
            Problem::new(
                super::kind::NO_AUDIT,
                format!("The audit log could not be written: {error:#}. Nothing was changed."),
            )
        })?;
        let done = act.await;
        match &done {
            Ok(answer) => begun.end("done", &json!({ "answer": answer })),
            Err(problem) => {
                let outcome = match outcome(problem.kind()) {
                    // A database that is unavailable may have committed before.
                    "none" if problem.status().is_server_error() => "unknown",
                    outcome => outcome,
                };
                begun.end(outcome, &json!({ "problem": problem.detail() }));
            }
        }
        done
    }
}

impl FromRef<App> for PrometheusHandle {
    fn from_ref(app: &App) -> Self {
        app.prometheus.clone()
    }
}
