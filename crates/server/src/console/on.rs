//! [`On`]: what the handlers of a route have in common, and what the names in its path stand for.

use super::app::App;
use super::rights::Visitor;
use super::source::Source;
use crate::kind::{UNKNOWN_JOB, UNKNOWN_LETTER, UNKNOWN_SOURCE};
use crate::operations::Operation;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::Topic;
use evenkeel::stream::admin::{DeadLetters, LetterId, StreamAdmin};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use web::Problem;

/// The state, who sent the request, and the names in its path.
pub(crate) struct On<N> {
    pub(crate) app: App,
    pub(crate) visitor: Visitor,
    pub(crate) names: N,
}

/// A source in a path, and a cache or an operation of it. The paths of pages have no source, and those without the other names leave them empty.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SourceNames {
    source: String,
    pub(crate) cache: String,
    pub(crate) id: String,
}

/// A topic in a path, or a job of it.
#[derive(Deserialize)]
pub(crate) struct TopicNames {
    #[serde(default)]
    source: String,
    pub(crate) topic: String,
    #[serde(default)]
    id: String,
}

/// A stream in a path, a group of it, or a dead letter of this.
#[derive(Deserialize)]
pub(crate) struct StreamNames {
    #[serde(default)]
    source: String,
    pub(crate) stream: String,
    #[serde(default)]
    pub(crate) group: String,
    #[serde(default)]
    id: String,
}

pub(crate) type OnSource = On<SourceNames>;
pub(crate) type OnTopic = On<TopicNames>;
pub(crate) type OnStream = On<StreamNames>;

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
    /// Does an operation; `typed` is what was typed to confirm it.
    pub(crate) async fn perform<R: Serialize>(&self, operation: Operation<'_, R>, typed: &str) -> Result<R, Problem> {
        self.app.perform(&self.visitor, operation, typed).await
    }
}

impl OnSource {
    pub(crate) fn source(&self) -> Result<&Source, Problem> {
        source(&self.app, &self.names.source)
    }
}

impl OnTopic {
    pub(crate) fn source(&self) -> Result<&Source, Problem> {
        source(&self.app, &self.names.source)
    }

    pub(crate) async fn topic(&self) -> Result<Topic, Problem> {
        self.source()?.topic(&self.names.topic).await
    }

    /// The topic, and the job by its 32 digits, never by its sender's id.
    pub(crate) async fn job(&self) -> Result<(Topic, JobId), Problem> {
        let unknown = |_| Problem::new(UNKNOWN_JOB, "The id of a job in a path is its 32 hexadecimal digits.");
        Ok((self.topic().await?, self.names.id.parse().map_err(unknown)?))
    }
}

impl OnStream {
    pub(crate) async fn stream(&self) -> Result<StreamAdmin, Problem> {
        source(&self.app, &self.names.source)?.stream(&self.names.stream).await
    }

    /// The dead letters of the group.
    pub(crate) async fn letters(&self) -> Result<DeadLetters, Problem> {
        source(&self.app, &self.names.source)?.letters(&self.names.stream, &self.names.group).await
    }

    /// The dead letter that the path names.
    pub(crate) fn letter(&self) -> Result<LetterId, Problem> {
        self.names.id.parse().map_err(|_| Problem::plain(UNKNOWN_LETTER))
    }
}

impl StreamNames {
    /// The stream, and the group.
    pub(crate) fn group(&self) -> (&str, &str) {
        (&self.stream, &self.group)
    }
}

/// The source of this name. Today a console has one, which is also called `default`.
fn source<'a>(app: &'a App, name: &str) -> Result<&'a Source, Problem> {
    if matches!(name, "" | "default") || name == app.source.name() {
        return Ok(&app.source);
    }
    Err(Problem::new(UNKNOWN_SOURCE, format!("There is no source {name:?}. This console has `default`.")))
}
