//! Dead letters: groups by error, redrive and deletion of one or of a group.
//!
//! A redrive or a deletion of a group is an operation, as on the page: its name comes from `Idempotency-Key`, so a resend finds it.

use super::change::Changed;
use crate::console::api::OnTopic;
use crate::console::api::openapi::{ActProblems, ReadProblems};
use crate::console::api::topics::Nothing;
use crate::console::api::wide::Wide;
use crate::console::rights::Visitor;
use crate::console::running::{Begun, State};
use crate::console::source::queue_problem;
use crate::kind::{CHANGED_MEANWHILE, invalid};
use crate::operations::dead as letter;
use crate::operations::group::{self, What};
use crate::queue::jobs::names::listed;
use crate::queue::letters::{Bounds, SHOWN_MAX, read};
use axum::Json;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::time::Duration;
use utoipa::ToSchema;
use web::{JsonBody, Problem, hex};

/// How long a request waits for the end of its operation.
const WAIT: Duration = Duration::from_secs(20);

/// The dead letters by error, as they were read. A caller who may not see errors gets one group for each class of errors.
#[derive(Serialize, ToSchema)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    read: usize,
    /// There are more than were read.
    is_cut: bool,
    /// Pass it on to an action: letters that die later are not touched.
    until: Wide,
    /// Pass it on to an action: older letters, which were not read, are not touched. Absent: there is no dead letter.
    from: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct Group {
    group: String,
    count: usize,
}

/// Which dead letters.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    /// A group, as `dead` names it.
    group: String,
    /// Only letters that died until this time, in ms since 1970.
    until: Wide,
    /// Only this letter, as `dead` names it, and newer ones; without it: all older letters of the group, too, also those that `dead` has not read.
    #[schema(pattern = "^[0-9]{1,19}:[0-9a-f]{32}$")]
    from: Option<String>,
    /// Letters per second, in slices of ten seconds, which `operations/ID/stop` ends; without it: at once.
    #[serde(default, deserialize_with = "web::whole_number")]
    #[schema(minimum = 1, maximum = 10000)]
    rate: Option<u32>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deletion {
    group: String,
    until: Wide,
    /// Only this letter, as `dead` names it, and newer ones; without it: all older letters of the group, too, also those that `dead` has not read.
    #[schema(pattern = "^[0-9]{1,19}:[0-9a-f]{32}$")]
    from: Option<String>,
    /// The topic's name.
    confirm: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Confirmation {
    /// The topic's name.
    confirm: String,
}

/// How many letters wait again: by this request, and by all with its key.
#[derive(Serialize, ToSchema)]
pub(crate) struct Redriven {
    redriven: Wide,
    redriven_in_all: Wide,
    /// The operation, which this console remembers for a while.
    operation: String,
    /// It goes on: `GET operations/ID` says how far it is.
    is_running: bool,
}

/// How many letters were deleted: by this request, and by all with its key.
#[derive(Serialize, ToSchema)]
pub(crate) struct Deleted {
    deleted: Wide,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_in_all: Option<Wide>,
    /// The operation, which this console remembers for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    /// It goes on: `GET operations/ID` says how far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_running: Option<bool>,
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/topics/{topic}/dead", operation_id = "list_dead_groups",
    tag = "dead letters", summary = "Dead letters by error",
    responses((status = 200, description = "Done", body = Groups), ReadProblems)
)]
pub(crate) async fn groups(at: OnTopic) -> Result<Json<Groups>, Problem> {
    let topic = at.topic().await?;
    let read = read(&topic, at.visitor.naming(), SHOWN_MAX).await.map_err(queue_problem)?;
    let mut groups: Vec<Group> = read.groups.into_iter().map(|(group, count)| Group { group, count }).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    let from = read.bounds.from.map(|from| format!("{}:{}", from.score, from.id));
    Ok(Json(Groups { groups, read: read.read, is_cut: read.is_cut, until: Wide(read.bounds.until), from }))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/dead/redrive", operation_id = "redrive_dead_group",
    tag = "dead letters", summary = "Send a group of dead letters back",
    extensions(("x-refused-by-state" = json!(true))),
    params(("Idempotency-Key" = String, Header, pattern = "^[!-~]{1,256}$", description = "The same for a repeat")),
    request_body = Choice,
    responses((status = 200, description = "Done", body = Redriven), ActProblems)
)]
pub(crate) async fn redrive(
    at: OnTopic,
    headers: HeaderMap,
    JsonBody(choice): JsonBody<Choice>,
) -> Result<Json<Redriven>, Problem> {
    let name = idempotency_name(&at.visitor, &headers)?.ok_or_else(|| {
        let detail = "Send `Idempotency-Key`: the same for a repeat, which then redrives no letter twice.";
        invalid("Idempotency-Key", detail)
    })?;
    let (what, bounds) = (What::redrive(choice.rate)?, bounds(choice.from.as_deref(), choice.until)?);
    let (done, in_all, operation, is_running) = ended(&at, &name, (what, choice.group, bounds), "").await?;
    Ok(Json(Redriven { redriven: done, redriven_in_all: in_all, operation, is_running }))
}

/// Begins the operation of this name, or finds it, and waits for its end. Returns the letters that it has taken since this request and in all,
/// its id, and whether it runs on.
async fn ended(
    at: &OnTopic,
    name: &str,
    (what, group, bounds): (What, String, Bounds),
    typed: &str,
) -> Result<(Wide, Wide, String, bool), Problem> {
    let topic = at.topic().await?;
    let naming = at.visitor.naming();
    let name = hex(&Sha256::digest(format!("{} {} {name}", what.past(), topic.name()))[..16]);
    let group = group::Group { name, topic, what, naming, group, bounds };
    let Begun { operation, done } = at.app.operations.begin(&at.app, &at.visitor, group, typed)?;
    let has_rate = matches!(what, What::Redrive { rate: Some(_) });
    let state = operation.wait(if has_rate { Duration::ZERO } else { WAIT }).await;
    if let State::Failed(problem) = state {
        return Err(problem);
    }
    let in_all = operation.done();
    Ok((
        Wide(in_all.saturating_sub(done.max(operation.earlier()))),
        Wide(in_all),
        operation.group.name.clone(),
        state == State::Running,
    ))
}

fn bounds(from: Option<&str>, until: Wide) -> Result<Bounds, Problem> {
    let detail = "`from` must be the one that `dead` has answered. Nothing was changed.";
    let from = from.map(|from| listed(from).ok_or_else(|| invalid("from", detail))).transpose()?;
    Ok(Bounds { from, until: until.0 })
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/redrive", operation_id = "redrive_job",
    tag = "dead letters", summary = "Send one dead letter back",
    params(("Idempotency-Key" = Option<String>, Header, pattern = "^[!-~]{1,256}$", description = "The same for a repeat")),
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(crate) async fn redrive_one(
    at: OnTopic,
    headers: HeaderMap,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Json<Changed>, Problem> {
    let (topic, id) = at.job().await?;
    let once = || format!("api {}", hex(&rand::random::<[u8; 16]>()));
    let name = idempotency_name(&at.visitor, &headers)?.unwrap_or_else(once);
    at.changed(letter::redrive(&topic, id, &name), "").await
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/dead/delete", operation_id = "delete_dead_group",
    tag = "dead letters", summary = "Delete a group of dead letters; there is no undo",
    extensions(("x-refused-by-state" = json!(true))),
    params(("Idempotency-Key" = Option<String>, Header, pattern = "^[!-~]{1,256}$", description = "The same for a repeat")),
    request_body = Deletion,
    responses((status = 200, description = "Done", body = Deleted), ActProblems)
)]
pub(crate) async fn delete(
    at: OnTopic,
    headers: HeaderMap,
    JsonBody(deletion): JsonBody<Deletion>,
) -> Result<Json<Deleted>, Problem> {
    // Without a key a resend is an operation of its own; it finds only letters of the same bounds that are left.
    let name = idempotency_name(&at.visitor, &headers)?.unwrap_or_else(|| hex(&rand::random::<[u8; 16]>()));
    let bounds = bounds(deletion.from.as_deref(), deletion.until)?;
    let (deleted, in_all, operation, is_running) =
        ended(&at, &name, (What::Delete, deletion.group, bounds), &deletion.confirm).await?;
    let (operation, is_running) = (Some(operation), Some(is_running));
    Ok(Json(Deleted { deleted, deleted_in_all: Some(in_all), operation, is_running }))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/delete", operation_id = "delete_job",
    tag = "dead letters", summary = "Delete one dead letter; there is no undo",
    extensions(("x-refused-by-state" = json!(true))),
    request_body = Confirmation,
    responses((status = 200, description = "Done", body = Deleted), ActProblems)
)]
pub(crate) async fn delete_one(
    at: OnTopic,
    JsonBody(Confirmation { confirm }): JsonBody<Confirmation>,
) -> Result<Json<Deleted>, Problem> {
    let (topic, id) = at.job().await?;
    let deleted = match at.perform(letter::delete(&topic, &[id]).one(), &confirm).await {
        Ok(_) => Wide(1),
        // The answer to a repeat.
        Err(problem) if problem.kind() == CHANGED_MEANWHILE => Wide(0),
        Err(problem) => return Err(problem),
    };
    Ok(Json(Deleted { deleted, deleted_in_all: None, operation: None, is_running: None }))
}

/// `Idempotency-Key`, together with the key that sent it: two programs may choose the same one.
pub(crate) fn idempotency_name(visitor: &Visitor, headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=256).contains(&text.len()));
    let text =
        text.ok_or_else(|| invalid("Idempotency-Key", "`Idempotency-Key` must have 1 to 256 ASCII characters."))?;
    Ok(Some(format!("api/{}/{text}", visitor.name)))
}
