//! What an operator does to one job: run, reschedule, revoke, edit.

use crate::console::api::OnTopic;
use crate::console::api::body::{given, sent};
use crate::console::api::limits::{base64, delay, time};
use crate::console::api::openapi::ActProblems;
use crate::console::api::topics::Nothing;
use crate::console::api::wide::Wide;
use crate::kind::invalid;
use crate::operations::{self, run_now};
use axum::Json;
use axum::http::{HeaderMap, header};
use evenkeel::queue::When;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use web::{JsonBody, Problem};

/// A time, or a delay from now.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Due {
    #[schema(schema_with = time)]
    at: Option<Wide>,
    #[schema(schema_with = delay)]
    delay_ms: Option<Wide>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Value>)]
    body: Option<Box<RawValue>>,
    #[schema(schema_with = base64)]
    body_base64: Option<String>,
}

/// What was done.
#[derive(Serialize, ToSchema)]
pub(crate) struct Changed {
    pub(crate) result: &'static str,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/run", operation_id = "run_job",
    tag = "jobs", summary = "Make a waiting job due now",
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(crate) async fn run(at: OnTopic, JsonBody(Nothing {}): JsonBody<Nothing>) -> Result<Json<Changed>, Problem> {
    let (topic, id) = at.job().await?;
    at.changed(run_now(&topic, &[id]).one(), "").await
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/reschedule", operation_id = "reschedule_job",
    tag = "jobs", summary = "Give a waiting job another due time",
    request_body = Due,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(crate) async fn reschedule(at: OnTopic, JsonBody(due): JsonBody<Due>) -> Result<Json<Changed>, Problem> {
    let when = match (due.at, due.delay_ms) {
        (Some(Wide(at)), None) => When::At(at),
        (None, Some(Wide(delay))) => When::In(delay),
        _ => return Err(invalid("at", "Send exactly one of `at` and `delay_ms`.")),
    };
    let (topic, id) = at.job().await?;
    at.changed(operations::reschedule(&topic, id, when), "").await
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/revoke", operation_id = "revoke_job",
    tag = "jobs", summary = "Revoke a waiting job: it never starts",
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(crate) async fn revoke(at: OnTopic, JsonBody(Nothing {}): JsonBody<Nothing>) -> Result<Json<Changed>, Problem> {
    let (topic, id) = at.job().await?;
    at.changed(operations::revoke(&topic, &[id]).one(), "").await
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/edit", operation_id = "edit_job",
    tag = "jobs", summary = "Give a waiting job or a dead letter another body",
    extensions(("x-refused-by-state" = json!(true))),
    params(("If-Match" = String, Header, pattern = "^\"[0-9a-f]{32}\"$", description = "The `ETag` of the body that was read")),
    request_body = Edit,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(crate) async fn edit(
    at: OnTopic,
    headers: HeaderMap,
    JsonBody(edit): JsonBody<Edit>,
) -> Result<Json<Changed>, Problem> {
    let Some(seen) = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok()) else {
        let detail = "Send `If-Match` with the `ETag` of the body that you have read, so that no other edit is lost.";
        return Err(invalid("If-Match", detail));
    };
    let (topic, id) = at.job().await?;
    let body = sent(edit.body.as_deref(), edit.body_base64.as_deref(), topic.codec())?;
    at.changed(operations::edit(&topic, id, Some(seen.trim_matches('"')), body), "").await
}
