//! Creates topics and streams, for programs in other languages.

use super::openapi::ActProblems;
use super::{OnStream, OnTopic, source};
use crate::console::kind::{in_range, invalid};
use crate::console::rights::Action;
use crate::console::source::{queue_problem, stream_problem};
use crate::create::{self, Created, PARTITIONS, SHARDS};
use axum::Json;
use evenkeel::queue::QueueError;
use evenkeel::stream::StreamError;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{JsonBody, Problem};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTopic {
    /// Default: 1, or what an existing topic has.
    #[schema(minimum = 1, maximum = 1024)]
    shards: Option<u16>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewStream {
    /// Default: 1, or what an existing stream has. The number cannot be changed later.
    #[schema(minimum = 1, maximum = 256)]
    partitions: Option<u16>,
}

/// The topic that there is now.
#[derive(Serialize, ToSchema)]
pub(super) struct CreatedTopic {
    /// Whether this request created it.
    is_new: bool,
    shards: u16,
}

/// The stream that there is now.
#[derive(Serialize, ToSchema)]
pub(super) struct CreatedStream {
    /// Whether this request created it.
    is_new: bool,
    partitions: u16,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}", operation_id = "create_topic",
    tag = "programs", summary = "Create a topic with JSON bodies, unless it exists",
    params(("source" = String, Path), ("topic" = String, Path)),
    request_body = NewTopic,
    responses((status = 200, description = "Done", body = CreatedTopic), ActProblems)
)]
pub(super) async fn topic(
    at: OnTopic,
    JsonBody(NewTopic { shards }): JsonBody<NewTopic>,
) -> Result<Json<CreatedTopic>, Problem> {
    at.check(Action::Enqueue)?;
    shards.map(|shards| in_range("shards", shards, SHARDS)).transpose()?;
    let keel = &source(&at.app, &at.names.source)?.keel;
    let created = create::topic(keel, &at.names.topic, shards).await.map_err(|error| match error {
        QueueError::Settings { reason, .. } => refused("topic", &reason),
        error => queue_problem(error),
    })?;
    let Created { is_new, parts } = created.with(shards, "shards").map_err(|error| refused("shards", &error))?;
    Ok(Json(CreatedTopic { is_new, shards: parts }))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/streams/{stream}", operation_id = "create_stream",
    tag = "programs", summary = "Create a stream with JSON values, unless it exists",
    params(("source" = String, Path), ("stream" = String, Path)),
    request_body = NewStream,
    responses((status = 200, description = "Done", body = CreatedStream), ActProblems)
)]
pub(super) async fn stream(
    at: OnStream,
    JsonBody(NewStream { partitions }): JsonBody<NewStream>,
) -> Result<Json<CreatedStream>, Problem> {
    at.check(Action::Append)?;
    partitions.map(|partitions| in_range("partitions", partitions, PARTITIONS)).transpose()?;
    let keel = &source(&at.app, &at.names.source)?.keel;
    let created = create::stream(keel, &at.names.stream, partitions).await.map_err(|error| match error {
        StreamError::Settings { reason, .. } => refused("stream", &reason),
        error => stream_problem(error),
    })?;
    let Created { is_new, parts } =
        created.with(partitions, "partitions").map_err(|error| refused("partitions", &error))?;
    Ok(Json(CreatedStream { is_new, partitions: parts }))
}

fn refused(field: &str, reason: &impl std::fmt::Display) -> Problem {
    invalid(field, format!("{reason}. Nothing was changed."))
}
