//! Dead letters: groups by error, redrive and deletion of one or of a group.

use super::change::Changed;
use crate::console::api::OnTopic;
use crate::console::api::openapi::{ActProblems, ReadProblems};
use crate::console::api::topics::Nothing;
use crate::console::api::wide::Wide;
use crate::console::kind::{NOT_CONFIRMED, UNKNOWN_JOB, invalid};
use crate::console::pages::queues::dead::{LETTERS_MAX, delete_group, read};
use crate::console::rights::{Action, Visitor};
use crate::console::source::{queue_problem, shards_problem};
use axum::Json;
use axum::http::HeaderMap;
use evenkeel::queue::topic::Filter;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use web::{JsonBody, Problem, hex};

/// The dead letters by error, as they were read.
#[derive(Serialize, ToSchema)]
pub(in crate::console::api) struct Groups {
    groups: Vec<Group>,
    read: usize,
    /// There are more than were read.
    is_cut: bool,
    /// Pass it on to an action: letters that die later are not touched.
    until: Wide,
}

#[derive(Serialize, ToSchema)]
struct Group {
    group: String,
    count: usize,
}

/// Which dead letters.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console::api) struct Choice {
    /// A group, as `dead` names it.
    group: String,
    /// Only letters that died until this time, in ms since 1970.
    until: Wide,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console::api) struct Deletion {
    group: String,
    until: Wide,
    /// The topic's name.
    confirm: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console::api) struct Confirmation {
    /// The topic's name.
    confirm: String,
}

/// How many letters wait again: by this request, and by all with its key.
#[derive(Serialize, ToSchema)]
pub(in crate::console::api) struct Redriven {
    redriven: Wide,
    redriven_in_all: Wide,
}

#[derive(Serialize, ToSchema)]
pub(in crate::console::api) struct Deleted {
    deleted: Wide,
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/topics/{topic}/dead", operation_id = "list_dead_groups",
    tag = "dead letters", summary = "Dead letters by error",
    params(("source" = String, Path), ("topic" = String, Path)),
    responses((status = 200, description = "Done", body = Groups), ReadProblems)
)]
pub(in crate::console::api) async fn groups(at: OnTopic) -> Result<Json<Groups>, Problem> {
    let topic = at.topic().await?;
    let read = read(&topic, u64::MAX, LETTERS_MAX).await?;
    let mut groups: Vec<Group> =
        read.groups.iter().map(|(group, ids)| Group { group: group.clone(), count: ids.len() }).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    Ok(Json(Groups { groups, read: read.read, is_cut: read.is_cut, until: Wide(read.until) }))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/dead/redrive", operation_id = "redrive_dead_group",
    tag = "dead letters", summary = "Send a group of dead letters back",
    params(("source" = String, Path), ("topic" = String, Path), ("Idempotency-Key" = String, Header, description = "The same for a repeat")),
    request_body = Choice,
    responses((status = 200, description = "Done", body = Redriven), ActProblems)
)]
pub(in crate::console::api) async fn redrive(
    at: OnTopic,
    headers: HeaderMap,
    JsonBody(choice): JsonBody<Choice>,
) -> Result<Json<Redriven>, Problem> {
    at.check(Action::Redrive)?;
    let redrive_name = idempotency_name(&at.visitor, &headers)?.ok_or_else(|| {
        let detail = "Send `Idempotency-Key`: the same for a repeat, which then redrives no letter twice.";
        invalid("Idempotency-Key", detail)
    })?;
    let topic = at.topic().await?;
    let target = json!({ "topic": at.names.topic, "group": choice.group, "until": choice.until });
    let act = async {
        let ids = read(&topic, choice.until.0, LETTERS_MAX).await?.groups.remove(&choice.group).unwrap_or_default();
        let filter = Filter { died_until: Some(choice.until.0), ..Filter::default() };
        let report = topic.redrive(&redrive_name).filter(filter).only(ids).run().await.map_err(shards_problem)?;
        Ok(Redriven { redriven: Wide(report.taken), redriven_in_all: Wide(report.taken_in_all) })
    };
    at.act("redrive", target, act).await.map(Json)
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/redrive", operation_id = "redrive_job",
    tag = "dead letters", summary = "Send one dead letter back",
    params(("source" = String, Path), ("topic" = String, Path), ("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The same for a repeat")),
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(in crate::console::api) async fn redrive_one(
    at: OnTopic,
    headers: HeaderMap,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Json<Changed>, Problem> {
    at.check(Action::Redrive)?;
    let (topic, id) = at.job().await?;
    let redrive_name = idempotency_name(&at.visitor, &headers)?;
    let once = || format!("api {}", hex(&rand::random::<[u8; 16]>()));
    let redrive_name = redrive_name.unwrap_or_else(once);
    let act = async {
        let report = topic.redrive(&redrive_name).only([id]).run().await.map_err(shards_problem)?;
        match report.taken_in_all {
            0 => Err(Problem::new(UNKNOWN_JOB, "There is no dead letter of this id. Nothing was changed.")),
            _ => Ok(Changed { result: "redriven" }),
        }
    };
    at.act("redrive", json!({ "topic": at.names.topic, "job": id.to_string() }), act).await.map(Json)
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/dead/delete", operation_id = "delete_dead_group",
    tag = "dead letters", summary = "Delete a group of dead letters; there is no undo",
    params(("source" = String, Path), ("topic" = String, Path)),
    request_body = Deletion,
    responses((status = 200, description = "Done", body = Deleted), ActProblems)
)]
pub(in crate::console::api) async fn delete(
    at: OnTopic,
    JsonBody(deletion): JsonBody<Deletion>,
) -> Result<Json<Deleted>, Problem> {
    at.check(Action::Delete)?;
    confirmed(&at.names.topic, &deletion.confirm)?;
    let topic = at.topic().await?;
    let target = json!({ "topic": at.names.topic, "group": deletion.group, "until": deletion.until });
    let act = async {
        let deleted = delete_group(&topic, &deletion.group, (deletion.until.0, LETTERS_MAX)).await?;
        Ok(Deleted { deleted: Wide::from(deleted) })
    };
    at.act("delete", target, act).await.map(Json)
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/delete", operation_id = "delete_job",
    tag = "dead letters", summary = "Delete one dead letter; there is no undo",
    params(("source" = String, Path), ("topic" = String, Path), ("id" = String, Path)),
    request_body = Confirmation,
    responses((status = 200, description = "Done", body = Deleted), ActProblems)
)]
pub(in crate::console::api) async fn delete_one(
    at: OnTopic,
    JsonBody(Confirmation { confirm }): JsonBody<Confirmation>,
) -> Result<Json<Deleted>, Problem> {
    at.check(Action::Delete)?;
    confirmed(&at.names.topic, &confirm)?;
    let (topic, id) = at.job().await?;
    let act = async {
        let deleted = topic.delete_dead(&[id]).await.map_err(queue_problem)?;
        Ok(Deleted { deleted: Wide::from(deleted.into_iter().filter(|was_dead| *was_dead).count()) })
    };
    at.act("delete", json!({ "topic": at.names.topic, "job": id.to_string() }), act).await.map(Json)
}

fn confirmed(topic: &str, typed: &str) -> Result<(), Problem> {
    if typed == topic {
        return Ok(());
    }
    let detail = format!("To delete, send the topic's name, {topic}, as `confirm`. Nothing was deleted.");
    Err(Problem::of_field(NOT_CONFIRMED, "confirm", detail))
}

/// `Idempotency-Key`, together with the key that sent it: two programs may choose the same one.
pub(in crate::console::api) fn idempotency_name(
    visitor: &Visitor,
    headers: &HeaderMap,
) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=256).contains(&text.len()));
    let text =
        text.ok_or_else(|| invalid("Idempotency-Key", "`Idempotency-Key` must have 1 to 256 ASCII characters."))?;
    Ok(Some(format!("api/{}/{text}", visitor.name)))
}
