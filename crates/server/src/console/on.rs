//! [`On`]: what the handlers of a route have in common.

use super::app::App;
use super::rights::Visitor;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use web::Problem;

/// The state, who sent the request, and the names in its path.
pub(crate) struct On<N> {
    pub(crate) app: App,
    pub(crate) visitor: Visitor,
    pub(crate) names: N,
}

impl<N: DeserializeOwned + Send> FromRequestParts<App> for On<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let names = Path::from_request_parts(parts, app).await;
        let Path(names) = names.map_err(|rejection| Problem::of_status(rejection.status()))?;
        let visitor = Visitor::from_request_parts(parts, app).await?;
        Ok(Self { app: app.clone(), visitor, names })
    }
}

impl<N> On<N> {
    /// Does something, written to the audit log before and after it.
    pub(crate) async fn act<R: Serialize>(
        &self,
        action: &'static str,
        target: Value,
        act: impl Future<Output = Result<R, Problem>>,
    ) -> Result<R, Problem> {
        self.app.act(&self.visitor, action, target, act).await
    }
}
