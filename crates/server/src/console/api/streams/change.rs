//! What an operator does to a group: pause, resume, seek, unregister.

use crate::console::api::OnStream;
use crate::console::api::openapi::ActProblems;
use crate::console::api::topics::{Nothing, Pause, Paused};
use crate::console::api::wide::Wide;
use crate::console::source::stream_problem;
use crate::operations::{self, Of, unregister};
use axum::Json;
use evenkeel::stream::admin::SeekPreview;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{JsonBody, Problem};

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/streams/{stream}/groups/{group}/pause", tag = "streams", summary = "Pause a group: running handlers continue",
    operation_id = "pause_group",
    extensions(("x-refused-by-state" = json!(true))),
    request_body = Pause,
    responses((status = 200, description = "Done", body = Paused), ActProblems)
)]
pub(crate) async fn pause(at: OnStream, JsonBody(pause): JsonBody<Pause>) -> Result<Json<Paused>, Problem> {
    let (now, stream) = (at.app.store_now(), at.stream().await?);
    let of = Of::Group(&stream, &at.names.group);
    at.perform(operations::pause(of, pause.until(), now)?, "").await?;
    Ok(Json(Paused { is_paused: true }))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/streams/{stream}/groups/{group}/resume", tag = "streams", summary = "Resume a group",
    operation_id = "resume_group",
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Paused), ActProblems)
)]
pub(crate) async fn resume(at: OnStream, JsonBody(Nothing {}): JsonBody<Nothing>) -> Result<Json<Paused>, Problem> {
    at.perform(operations::resume(Of::Group(&at.stream().await?, &at.names.group)), "").await?;
    Ok(Json(Paused { is_paused: false }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seek {
    /// `start`, `end`, `time` or `entry`.
    #[schema(pattern = "^(start|end|time|entry)$")]
    to: String,
    /// The time (RFC 3339, or ms since 1970), or the entry (`PARTITION:ID`).
    #[serde(default)]
    at: String,
    /// Only count what would be handled again or skipped.
    #[serde(default)]
    dry_run: bool,
    /// The group's name; not needed for a dry run.
    #[serde(default)]
    confirm: String,
}

/// What the seek does, or would do, in each partition.
#[derive(Serialize, ToSchema)]
#[schema(as = SeekResult)]
pub(crate) struct Sought {
    is_dry_run: bool,
    partitions: Vec<Part>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SeekPartition)]
struct Part {
    partition: u16,
    /// Delivered entries that are delivered again.
    again: Wide,
    /// Unread entries that are skipped.
    skipped: Wide,
    /// Pending entries, which are dropped.
    pending: Wide,
    /// There are more than were counted.
    is_cut: bool,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/streams/{stream}/groups/{group}/seek", tag = "streams", summary = "Move a group: entries are handled again or skipped",
    operation_id = "seek_group",
    extensions(("x-refused-by-state" = json!(true))),
    request_body = Seek,
    responses((status = 200, description = "Done", body = Sought), ActProblems)
)]
pub(crate) async fn seek(at: OnStream, JsonBody(seek): JsonBody<Seek>) -> Result<Json<Sought>, Problem> {
    let to = operations::seek::goal(&seek.to, &seek.at)?;
    let stream = at.stream().await?;
    let previews = stream.preview_seek(&at.names.group, to).await.map_err(stream_problem)?;
    // A partition that Redis rejects is an error of the seek, which moves the others.
    let previews = if seek.dry_run { previews.all().map_err(stream_problem)? } else { previews.found };
    if !seek.dry_run {
        at.perform(operations::seek::seek(&stream, &at.names.group, to, &previews), &seek.confirm).await?;
    }
    let part = |preview: SeekPreview| Part {
        partition: preview.partition,
        again: Wide(preview.again),
        skipped: Wide(preview.skipped),
        pending: Wide(preview.pending),
        is_cut: preview.is_cut,
    };
    Ok(Json(Sought { is_dry_run: seek.dry_run, partitions: previews.into_iter().map(part).collect() }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UnregisterGroup)]
pub(crate) struct Confirmation {
    /// The group's name.
    confirm: String,
}

/// A group was unregistered.
#[derive(Serialize, ToSchema)]
#[schema(as = UnregisteredGroup)]
pub(crate) struct Unregistered {
    /// The partitions in which Redis still has the group, and keeps the entries that it has not settled: remove it there with `XGROUP DESTROY`.
    partitions_left: Vec<u16>,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/streams/{stream}/groups/{group}/unregister", tag = "streams", summary = "Forget a group that has no consumers any more",
    operation_id = "unregister_group",
    extensions(("x-refused-by-state" = json!(true))),
    request_body = Confirmation,
    responses((status = 200, description = "Done", body = Unregistered), ActProblems)
)]
pub(crate) async fn unregister(
    at: OnStream,
    JsonBody(Confirmation { confirm }): JsonBody<Confirmation>,
) -> Result<Json<Unregistered>, Problem> {
    let stream = at.stream().await?;
    let state = unregister::group(&stream, &at.names.group).await?;
    at.perform(unregister::unregister(&at.app.source.keel, &stream, &state), &confirm).await?;
    Ok(Json(Unregistered { partitions_left: unregister::left(&state) }))
}
