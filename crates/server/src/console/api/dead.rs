//! Dead letters: groups by error, redrive and deletion of one or of a group.

use super::jobs::{AtJob, job_id};
use super::source;
use super::topics::{At, Nothing, spread};
use super::wide::Wide;
use crate::console::app::App;
use crate::console::kind::{INVALID_INPUT, NOT_CONFIRMED, PARTIAL, UNKNOWN_JOB};
use crate::console::pages::dead::{PAGE, read};
use crate::console::rights::{Action, Visitor};
use crate::console::source::queue_problem;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::Filter;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use web::{JsonBody, Problem};

/// The dead letters by error, as they were read.
#[derive(Serialize)]
pub(super) struct Groups {
    groups: Vec<Group>,
    read: usize,
    /// There are more than were read.
    is_cut: bool,
    /// Pass it on to an action: letters that die later are not touched.
    until: Wide,
}

#[derive(Serialize)]
struct Group {
    group: String,
    count: usize,
}

/// Which dead letters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    /// A group, as `dead` names it.
    group: String,
    /// Only letters that died until this time, in ms since 1970.
    until: Wide,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deletion {
    group: String,
    until: Wide,
    /// The topic's name.
    confirm: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Confirmation {
    /// The topic's name.
    confirm: String,
}

pub(super) async fn groups(State(app): State<App>, Path((name, topic)): At) -> Result<Json<Groups>, Problem> {
    let handle = source(&app, &name)?.topic(&topic).await?;
    let read = read(&handle, u64::MAX).await?;
    let mut groups: Vec<Group> =
        read.groups.iter().map(|(group, ids)| Group { group: group.clone(), count: ids.len() }).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    Ok(Json(Groups { groups, read: read.read, is_cut: read.is_cut, until: Wide(read.until) }))
}

pub(super) async fn redrive(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, topic)): At,
    headers: HeaderMap,
    JsonBody(choice): JsonBody<Choice>,
) -> Result<Json<Value>, Problem> {
    visitor.check(Action::Redrive, &topic)?;
    let redrive_name = idempotency_name(&visitor, &headers)?.ok_or_else(|| {
        let detail = "Send `Idempotency-Key`: the same for a repeat, which then redrives no letter twice.";
        Problem::of_field(INVALID_INPUT, "Idempotency-Key", detail)
    })?;
    let handle = source(&app, &name)?.topic(&topic).await?;
    let target = json!({ "topic": topic, "group": choice.group, "until": choice.until });
    let act = async {
        let ids = read(&handle, choice.until.0).await?.groups.remove(&choice.group).unwrap_or_default();
        let filter = Filter { died_until: Some(choice.until.0), ..Filter::default() };
        let report = handle.redrive(&redrive_name).filter(filter).only(ids).run().await.map_err(spread)?;
        Ok(json!({ "redriven": Wide(report.taken), "redriven_in_all": Wide(report.taken_in_all) }))
    };
    app.act(&visitor, "redrive", target, act).await.map(Json)
}

pub(super) async fn redrive_one(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, topic, id)): AtJob,
    headers: HeaderMap,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Json<Value>, Problem> {
    visitor.check(Action::Redrive, &topic)?;
    let (handle, id) = (source(&app, &name)?.topic(&topic).await?, job_id(&id)?);
    let redrive_name = idempotency_name(&visitor, &headers)?;
    let once = || format!("api {}", crate::console::security::session::hex(&rand::random::<[u8; 16]>()));
    let redrive_name = redrive_name.unwrap_or_else(once);
    let act = async {
        let report = handle.redrive(&redrive_name).only([id]).run().await.map_err(spread)?;
        match report.taken_in_all {
            0 => Err(Problem::new(UNKNOWN_JOB, "There is no dead letter of this id. Nothing was changed.")),
            _ => Ok(json!({ "result": "redriven" })),
        }
    };
    app.act(&visitor, "redrive", json!({ "topic": topic, "job": id.to_string() }), act).await.map(Json)
}

pub(super) async fn delete(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, topic)): At,
    JsonBody(deletion): JsonBody<Deletion>,
) -> Result<Json<Value>, Problem> {
    visitor.check(Action::Delete, &topic)?;
    confirmed(&topic, &deletion.confirm)?;
    let handle = source(&app, &name)?.topic(&topic).await?;
    let target = json!({ "topic": topic, "group": deletion.group, "until": deletion.until });
    let act = async {
        let ids: Vec<JobId> = read(&handle, deletion.until.0).await?.groups.remove(&deletion.group).unwrap_or_default();
        let mut deleted = 0_usize;
        for some in ids.chunks(PAGE) {
            let answers = handle.delete_dead(some).await.map_err(|error| {
                let problem = queue_problem(error);
                let detail = format!("{} {deleted} were deleted; send the same request again.", problem.detail());
                if deleted > 0 { Problem::new(PARTIAL, detail) } else { problem }
            })?;
            deleted += answers.into_iter().filter(|was_dead| *was_dead).count();
        }
        Ok(json!({ "deleted": Wide::from(deleted) }))
    };
    app.act(&visitor, "delete", target, act).await.map(Json)
}

pub(super) async fn delete_one(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, topic, id)): AtJob,
    JsonBody(Confirmation { confirm }): JsonBody<Confirmation>,
) -> Result<Json<Value>, Problem> {
    visitor.check(Action::Delete, &topic)?;
    confirmed(&topic, &confirm)?;
    let (handle, id) = (source(&app, &name)?.topic(&topic).await?, job_id(&id)?);
    let act = async {
        let deleted = handle.delete_dead(&[id]).await.map_err(queue_problem)?;
        Ok(json!({ "deleted": Wide::from(deleted.into_iter().filter(|was_dead| *was_dead).count()) }))
    };
    app.act(&visitor, "delete", json!({ "topic": topic, "job": id.to_string() }), act).await.map(Json)
}

fn confirmed(topic: &str, typed: &str) -> Result<(), Problem> {
    if typed == topic {
        return Ok(());
    }
    let detail = format!("To delete, send the topic's name, {topic}, as `confirm`. Nothing was deleted.");
    Err(Problem::of_field(NOT_CONFIRMED, "confirm", detail))
}

/// `Idempotency-Key`, together with the key that sent it: two programs may choose the same one.
pub(super) fn idempotency_name(visitor: &Visitor, headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=256).contains(&text.len()));
    let text = text.ok_or_else(|| {
        Problem::of_field(INVALID_INPUT, "Idempotency-Key", "`Idempotency-Key` must have 1 to 256 ASCII characters.")
    })?;
    Ok(Some(format!("api/{}/{text}", visitor.name)))
}
