//! Streams: figures of them and of their groups.
//!
//! * `entries.rs` — reads and appends entries. `change.rs` — pause, resume, seek, unregister. `dead.rs` — dead letters.

pub(super) mod change;
pub(super) mod dead;
pub(super) mod entries;

use super::jobs::change::Changed;
use super::openapi::{ActProblems, ReadProblems};
use super::wide::Wide;
use super::{OnSource, OnStream};
use crate::console::source::stream_problem;
use crate::operations;
use crate::stream::figures::{self, Figures};
use axum::Json;
use evenkeel::stream::admin::GroupState;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{JsonBody, Problem};

/// All streams, as the console read them last.
#[derive(Serialize, ToSchema)]
pub(super) struct Streams {
    read_at: Option<Wide>,
    /// Why the last reading failed.
    failed: Option<String>,
    streams: Vec<StreamView>,
}

/// A stream with the state of its groups.
#[derive(Serialize, ToSchema)]
pub(super) struct StreamView {
    name: String,
    partitions: u16,
    /// Absent while no group shows them.
    entries: Option<Wide>,
    groups: Vec<GroupView>,
}

/// The figures of a group.
#[derive(Serialize, ToSchema)]
struct GroupView {
    name: String,
    is_ordered: bool,
    /// Entries that no consumer of the group has read; absent: unknown until the group has read the end.
    unread: Option<Wide>,
    /// The age of the oldest of them; absent: there is none.
    late_ms: Option<Wide>,
    pending: Wide,
    oldest_pending_ms: Option<Wide>,
    delayed: Wide,
    dead: Wide,
    parked_keys: Wide,
    /// Redis has lost the group in a partition.
    is_missing: bool,
    is_paused: bool,
    /// The end of a pause, in ms since 1970; absent: the group is not paused, or until it is resumed.
    paused_until: Option<Wide>,
}

impl StreamView {
    fn of(figures: &Figures) -> Self {
        Self {
            name: figures.name.clone(),
            partitions: figures.partitions,
            entries: figures.entries().map(Wide),
            groups: figures.groups.iter().map(GroupView::of).collect(),
        }
    }
}

impl GroupView {
    fn of(group: &GroupState) -> Self {
        Self {
            name: group.name.clone(),
            is_ordered: figures::mode(group.mode) == "ordered",
            unread: group.lag_entries().map(Wide),
            late_ms: figures::late_ms(group).map(Wide),
            pending: Wide(group.pending()),
            oldest_pending_ms: figures::oldest_pending_ms(group).map(Wide),
            delayed: Wide(figures::delayed(group)),
            dead: Wide(group.dead()),
            parked_keys: Wide(figures::parked_keys(group)),
            is_missing: group.is_missing(),
            is_paused: group.is_paused(),
            paused_until: figures::paused_until(group).filter(|until| *until != u64::MAX).map(Wide),
        }
    }
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/streams", tag = "streams", summary = "List the streams with their groups",
    operation_id = "list_streams",
    responses((status = 200, description = "Done", body = Streams), ReadProblems)
)]
pub(super) async fn list(at: OnSource) -> Result<Json<Streams>, Problem> {
    at.source()?;
    let snapshot = at.app.collector.snapshot();
    let failed = snapshot.streams_failed.clone();
    let streams = snapshot.streams.iter().map(StreamView::of).collect();
    Ok(Json(Streams { read_at: (snapshot.at > 0).then_some(Wide(snapshot.at)), failed, streams }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewStream {
    #[schema(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$")]
    name: String,
    /// The default is 1; it cannot be changed later.
    #[serde(default, deserialize_with = "web::whole_number")]
    #[schema(minimum = 1, maximum = 256)]
    partitions: Option<u16>,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/streams", tag = "streams",
    summary = "Register a stream whose entries have JSON values; one that exists stays as it is", operation_id = "create_stream",
    request_body = NewStream,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(super) async fn create(at: OnSource, JsonBody(new): JsonBody<NewStream>) -> Result<Json<Changed>, Problem> {
    at.changed(operations::create::stream(&at.source()?.keel, &new.name, new.partitions), "").await
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/streams/{stream}", tag = "streams", summary = "A stream and its groups, read now",
    operation_id = "show_stream",
    responses((status = 200, description = "Done", body = StreamView), ReadProblems)
)]
pub(super) async fn show(at: OnStream) -> Result<Json<StreamView>, Problem> {
    let stream = at.stream().await?;
    Ok(Json(StreamView::of(&Figures::read(&stream).await.map_err(stream_problem)?)))
}
