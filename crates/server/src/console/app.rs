//! [`App`]: the state of all handlers.

use super::api::Api;
use super::collector::Collector;
use super::rights::Visitor;
use super::running::Operations;
use super::security::Security;
use super::security::audit::{Audit, Deed};
use super::source::Source;
use crate::kind::{NO_AUDIT, NOT_CONFIRMED, outcome};
use crate::operations::Operation;
use axum::Router;
use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;
use serde_json::json;
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

    /// Does an operation, if the visitor may do it and has typed what it needs. It is in the audit log.
    pub(crate) async fn perform<R: Serialize>(
        &self,
        visitor: &Visitor,
        operation: Operation<'_, R>,
        typed: &str,
    ) -> Result<R, Problem> {
        let Operation { action: (_, action), target, run, .. } = self.permit(visitor, operation, typed)?;
        let deed = Deed { source: self.source.name(), action, target };
        let begun = self.audit.begin(visitor, &deed).map_err(|error| {
            Problem::new(NO_AUDIT, format!("The audit log could not be written: {error:#}. Nothing was changed."))
        })?;
        let done = run.await.map_err(Problem::from);
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

    /// Refuses an operation that the visitor may not do, or without what is to be typed.
    pub(crate) fn permit<'a, R>(
        &self,
        visitor: &Visitor,
        operation: Operation<'a, R>,
        typed: &str,
    ) -> Result<Operation<'a, R>, Problem> {
        visitor.check(operation.action.0, operation.on)?;
        match operation.confirmation {
            Some((what, name)) if !operation.is_confirmed(Some(typed)) => {
                let detail = format!("To confirm, type {what}: {name}. Nothing was changed.");
                Err(Problem::of_field(NOT_CONFIRMED, "confirm", detail))
            }
            _ => Ok(operation),
        }
    }
}

impl FromRef<App> for PrometheusHandle {
    fn from_ref(app: &App) -> Self {
        app.prometheus.clone()
    }
}
