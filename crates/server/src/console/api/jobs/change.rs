//! What an operator does to one job: run, reschedule, revoke, edit.

use super::{etag, found};
use crate::console::api::OnTopic;
use crate::console::api::body::{given, sent};
use crate::console::api::limits::{base64, delay, time};
use crate::console::api::openapi::ActProblems;
use crate::console::api::topics::Nothing;
use crate::console::api::wide::Wide;
use crate::console::kind::{CHANGED_MEANWHILE, invalid};
use crate::console::rights::Action;
use crate::console::source::{no_room, queue_problem};
use axum::Json;
use axum::http::{HeaderMap, header};
use evenkeel::queue::topic::Amended;
use evenkeel::queue::{Found, Rescheduled, Revoked, State as StoredState, When};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use web::{JsonBody, Problem};

/// A time, or a delay from now.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console::api) struct Due {
    #[schema(schema_with = time)]
    at: Option<Wide>,
    #[schema(schema_with = delay)]
    delay_ms: Option<Wide>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console::api) struct Edit {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Value>)]
    body: Option<Box<RawValue>>,
    #[schema(schema_with = base64)]
    body_base64: Option<String>,
}

/// What was done.
#[derive(Serialize, ToSchema)]
pub(in crate::console::api) struct Changed {
    pub(in crate::console::api) result: &'static str,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/run", operation_id = "run_job",
    tag = "jobs", summary = "Make a waiting job due now",
    params(("source" = String, Path), ("topic" = String, Path), ("id" = String, Path)),
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(in crate::console::api) async fn run(
    at: OnTopic,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Json<Changed>, Problem> {
    reschedule_to(at, (Action::Run, "run"), When::In(0)).await
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/reschedule", operation_id = "reschedule_job",
    tag = "jobs", summary = "Give a waiting job another due time",
    params(("source" = String, Path), ("topic" = String, Path), ("id" = String, Path)),
    request_body = Due,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(in crate::console::api) async fn reschedule(
    at: OnTopic,
    JsonBody(due): JsonBody<Due>,
) -> Result<Json<Changed>, Problem> {
    let when = match (due.at, due.delay_ms) {
        (Some(Wide(at)), None) => When::At(at),
        (None, Some(Wide(delay))) => When::In(delay),
        _ => return Err(invalid("at", "Send exactly one of `at` and `delay_ms`.")),
    };
    reschedule_to(at, (Action::Reschedule, "reschedule"), when).await
}

async fn reschedule_to(
    at: OnTopic,
    (action, verb): (Action, &'static str),
    when: When,
) -> Result<Json<Changed>, Problem> {
    at.check(action)?;
    let (topic, id) = at.job().await?;
    let act = async { changed(topic.reschedule(id, when).await.map_err(queue_problem)?) };
    let target = json!({ "topic": at.names.topic, "job": id.to_string(), "when": format!("{when:?}") });
    at.act(verb, target, act).await.map(Json)
}

/// What a change of a waiting job did.
fn changed(answer: Rescheduled) -> Result<Changed, Problem> {
    match answer {
        Rescheduled::Changed => Ok(Changed { result: "changed" }),
        Rescheduled::ChangedAfterLeaseExpiry => Ok(Changed { result: "changed-after-lease-expiry" }),
        Rescheduled::Full => Err(no_room()),
        other => Err(not_waiting(&format!("{other:?}"))),
    }
}

fn not_waiting(found: &str) -> Problem {
    Problem::new(CHANGED_MEANWHILE, format!("The job is not waiting ({found}). Nothing was changed."))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/revoke", operation_id = "revoke_job",
    tag = "jobs", summary = "Revoke a waiting job: it never starts",
    params(("source" = String, Path), ("topic" = String, Path), ("id" = String, Path)),
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(in crate::console::api) async fn revoke(
    at: OnTopic,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Json<Changed>, Problem> {
    at.check(Action::Revoke)?;
    let (topic, id) = at.job().await?;
    let act = async {
        match topic.revoke(&[id]).await.map_err(queue_problem)?.first() {
            Some(Revoked::Revoked) => Ok(Changed { result: "revoked" }),
            Some(Revoked::RevokedAfterLeaseExpiry) => Ok(Changed { result: "revoked-after-lease-expiry" }),
            other => Err(not_waiting(&other.map(|other| format!("{other:?}")).unwrap_or_default())),
        }
    };
    at.act("revoke", json!({ "topic": at.names.topic, "job": id.to_string() }), act).await.map(Json)
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/edit", operation_id = "edit_job",
    tag = "jobs", summary = "Give a waiting job or a dead letter another body",
    extensions(("x-refused-by-state" = json!(true))),
    params(("source" = String, Path), ("topic" = String, Path), ("id" = String, Path), ("If-Match" = String, Header, pattern = "^\"[0-9a-f]{32}\"$", description = "The `ETag` of the body that was read")),
    request_body = Edit,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(in crate::console::api) async fn edit(
    at: OnTopic,
    headers: HeaderMap,
    JsonBody(edit): JsonBody<Edit>,
) -> Result<Json<Changed>, Problem> {
    at.check(Action::Edit)?;
    let Some(seen) = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok()) else {
        let detail = "Send `If-Match` with the `ETag` of the body that you have read, so that no other edit is lost.";
        return Err(invalid("If-Match", detail));
    };
    let (topic, id) = at.job().await?;
    let body = sent(edit.body.as_deref(), edit.body_base64.as_deref(), topic.codec())?;
    let Found::Live { state, job, .. } = found(&topic, id).await? else { return Err(not_waiting("Ended")) };
    let (before, after) = (etag(&job.spec.body), etag(&body));
    // A repeat finds the new body.
    if before != seen && before != after {
        return Err(Problem::new(
            CHANGED_MEANWHILE,
            "The body is another one by now. Read it again. Nothing was changed.",
        ));
    }
    let target = json!({ "topic": at.names.topic, "job": id.to_string(), "before": before, "after": after });
    let act = async {
        if state != StoredState::Dead {
            return changed(topic.edit(id, body).await.map_err(queue_problem)?);
        }
        match topic.amend(id, job.spec.body.clone(), body).await.map_err(queue_problem)? {
            Amended::Changed => Ok(Changed { result: "changed" }),
            Amended::Full => Err(no_room()),
            other => Err(Problem::new(
                CHANGED_MEANWHILE,
                format!("The dead letter is not as it was ({other:?}). Nothing was changed."),
            )),
        }
    };
    at.act("edit", target, act).await.map(Json)
}
