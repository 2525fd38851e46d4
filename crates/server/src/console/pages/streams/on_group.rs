//! [`OnGroup`]: the group of a stream that a path names, and who asks.

use crate::console::app::App;
use crate::console::kind::UNKNOWN_LETTER;
use crate::console::pages::{acted, group_path};
use crate::console::rights::Visitor;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::Redirect;
use evenkeel::stream::admin::{DeadLetters, LetterId, StreamAdmin};
use serde::Deserialize;
use serde_json::{Value, json};
use web::Problem;

/// What the handlers of a group's pages have in common.
pub(in crate::console::pages) struct OnGroup {
    pub(super) app: App,
    pub(super) visitor: Visitor,
    pub(super) stream: String,
    pub(super) group: String,
    /// The id of a dead letter; empty if the path has none.
    id: String,
}

#[derive(Deserialize)]
struct Place {
    stream: String,
    group: String,
    #[serde(default)]
    id: String,
}

impl FromRequestParts<App> for OnGroup {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let place = Path::<Place>::from_request_parts(parts, app).await;
        let Path(Place { stream, group, id }) = place.map_err(|rejection| Problem::of_status(rejection.status()))?;
        let visitor = Visitor::from_request_parts(parts, app).await?;
        Ok(Self { app: app.clone(), visitor, stream, group, id })
    }
}

impl OnGroup {
    /// The path below which the pages of the group are.
    pub(super) fn path(&self) -> String {
        group_path(&self.stream, &self.group)
    }

    pub(super) async fn admin(&self) -> Result<StreamAdmin, Problem> {
        self.app.source.stream(&self.stream).await
    }

    pub(super) async fn letters(&self) -> Result<DeadLetters, Problem> {
        self.app.source.letters(&self.stream, &self.group).await
    }

    /// The dead letter that the path names.
    pub(super) fn letter(&self) -> Result<LetterId, Problem> {
        self.id.parse().map_err(|_| Problem::plain(UNKNOWN_LETTER))
    }

    /// Does something to the group, which is in the audit log with `details`, and leads to the page at `path`, which shows the answer.
    pub(super) async fn acted(
        &self,
        (action, details): (&'static str, &[(&str, Value)]),
        path: &str,
        act: impl Future<Output = Result<String, Problem>>,
    ) -> Result<Redirect, Problem> {
        let mut target = json!({ "stream": self.stream, "group": self.group });
        for (name, value) in details {
            target[*name] = value.clone();
        }
        acted(&self.app, &self.visitor, (action, target), path, act).await
    }
}
