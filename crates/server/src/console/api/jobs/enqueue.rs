//! Adds jobs.

use super::dead::idempotency_name;
use crate::console::api::OnTopic;
use crate::console::api::body::{given, sent};
use crate::console::api::limits::{base64, delay, sender_id, time, unique_key};
use crate::console::api::openapi::ActProblems;
use crate::console::api::wide::Wide;
use crate::console::rights::Action;
use crate::console::source::queue_problem;
use crate::kind::{PARTIAL, invalid};
use crate::queue::jobs::names::PriorityName;
use axum::Json;
use axum::http::HeaderMap;
use evenkeel::queue::topic::{NewTopicJob, Topic};
use evenkeel::queue::{Enqueued, Retries, When};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::time::Duration;
use utoipa::ToSchema;
use web::{JsonBody, Problem};

/// Jobs of one request.
const JOBS_MAX: usize = 100;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewJobs)]
pub(crate) struct Jobs {
    #[schema(min_items = 1, max_items = 100)]
    jobs: Vec<New>,
}

/// A new job.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct New {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<serde_json::Value>)]
    body: Option<Box<RawValue>>,
    #[schema(schema_with = base64)]
    body_base64: Option<String>,
    #[schema(schema_with = sender_id)]
    id: Option<String>,
    /// Instead of an id: no other job with this key for a time.
    unique: Option<Unique>,
    #[schema(schema_with = time)]
    at: Option<Wide>,
    #[schema(schema_with = delay)]
    delay_ms: Option<Wide>,
    priority: Option<PriorityName>,
    #[serde(default, deserialize_with = "web::whole_number")]
    #[schema(maximum = 65535)]
    retries: Option<u16>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Unique {
    #[schema(schema_with = unique_key)]
    key: String,
    #[schema(value_type = String, pattern = "^[1-9][0-9]{0,12}$")]
    window_ms: Wide,
}

/// What has become of each job, in order.
#[derive(Serialize, ToSchema)]
pub(crate) struct Added {
    jobs: Vec<One>,
}

#[derive(Serialize, ToSchema)]
struct One {
    id: String,
    /// `created`; `duplicate`, `dead`, `ended`: a job of this id exists or has ended; `taken`: another one has the key; `full`,
    /// `elsewhere`: not added, send it again later.
    result: &'static str,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/jobs", operation_id = "enqueue_jobs",
    tag = "programs", summary = "Enqueue 1 to 100 jobs",
    extensions(("x-refused-by-state" = json!(true))),
    params(("Idempotency-Key" = Option<String>, Header, pattern = "^[!-~]{1,256}$", description = "Becomes the id of jobs without one")),
    request_body = Jobs,
    responses((status = 200, description = "Done", body = Added), ActProblems)
)]
pub(crate) async fn enqueue(
    at: OnTopic,
    headers: HeaderMap,
    JsonBody(Jobs { jobs }): JsonBody<Jobs>,
) -> Result<Json<Added>, Problem> {
    at.visitor.check(Action::Enqueue, &at.names.topic)?;
    if !(1..=JOBS_MAX).contains(&jobs.len()) {
        return Err(invalid("jobs", format!("Send 1 to {JOBS_MAX} jobs in a request.")));
    }
    let topic = at.topic().await?;
    let once = idempotency_name(&at.visitor, &headers)?;
    let jobs: Vec<NewTopicJob> = jobs
        .into_iter()
        .enumerate()
        .map(|(place, new)| checked(new, place, once.as_deref(), &topic))
        .collect::<Result<_, _>>()?;
    let is_one = jobs.len() == 1;
    let answers = join_all(jobs.into_iter().map(|job| topic.add(job))).await;
    let added: Result<Vec<One>, Problem> = answers
        .into_iter()
        .map(|answer| {
            answer.map(|(id, answer)| One { id: id.to_string(), result: word(answer) }).map_err(queue_problem)
        })
        .collect();
    match added {
        Ok(jobs) => Ok(Json(Added { jobs })),
        Err(problem) if is_one || problem.status().is_client_error() => Err(problem),
        Err(problem) => Err(Problem::new(
            PARTIAL,
            format!(
                "{} Some jobs may have been added. With ids or `Idempotency-Key`, send the same request again.",
                problem.detail()
            ),
        )),
    }
}

/// The place in the request tells the jobs of one `Idempotency-Key` apart.
fn checked(new: New, place: usize, once: Option<&str>, topic: &Topic) -> Result<NewTopicJob, Problem> {
    let when = match (new.at, new.delay_ms) {
        (Some(Wide(at)), None) => When::At(at),
        (None, delay) => When::In(delay.unwrap_or_default().0),
        _ => return Err(invalid("at", "Send at most one of `at` and `delay_ms`.")),
    };
    let unique = new.unique.map(|unique| (unique.key, Duration::from_millis(unique.window_ms.0)));
    let name = new.id.or_else(|| once.filter(|_| unique.is_none()).map(|once| format!("{once}/{place}")));
    Ok(NewTopicJob {
        body: sent(new.body.as_deref(), new.body_base64.as_deref(), topic.codec())?,
        when,
        name,
        unique,
        priority: new.priority.unwrap_or(PriorityName::Normal).into(),
        retries: new.retries.map(Retries::Limited),
    })
}

fn word(answer: Enqueued) -> &'static str {
    match answer {
        Enqueued::Created => "created",
        Enqueued::Duplicate => "duplicate",
        Enqueued::Taken(_) => "taken",
        Enqueued::Dead => "dead",
        Enqueued::Ended(_) => "ended",
        Enqueued::Full => "full",
        Enqueued::Elsewhere => "elsewhere",
    }
}
