//! Jobs: lists, one job with the reason why it is where it is, and its body.
//!
//! * `enqueue.rs` — adds jobs. `change.rs` — run, reschedule, revoke, edit. `dead.rs` — dead letters.

pub(super) mod change;
pub(super) mod dead;
pub(super) mod enqueue;

use super::OnTopic;
use super::body::Body;
use super::openapi::ReadProblems;
use super::wide::Wide;
use crate::console::pages::queues::find::{self, TEXT_MAX};
use crate::console::rights::Visitor;
use crate::console::security::redact::{HIDDEN, Origin};
use crate::console::source::queue_problem;
use crate::kind::{UNKNOWN_JOB, invalid};
use crate::operations::digest;
use crate::output::JSON;
use crate::queue::jobs::names::listed;
use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use evenkeel::queue::topic::{JobState, Preview, Previewed, Seen, Topic, Why};
use evenkeel::queue::{
    CompletionRecord, End, ErrorClass, Found, Job, JobId, Listed, Note, Priority, State as StoredState,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{Problem, Query};

/// Jobs of a page.
const LIMIT: usize = 50;
const LIMIT_MAX: usize = 500;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// `waiting`, `running` or `dead`.
    #[param(pattern = "^(waiting|running|dead)$")]
    state: Option<String>,
    /// The cursor that the page before returned as `next`.
    #[param(pattern = "^[0-9]{1,19}:[0-9a-f]{32}$")]
    after: Option<String>,
    /// Default: 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    /// Only the job with this id of its sender.
    sender_id: Option<String>,
    /// Only jobs whose body or error contains this text, as far as the caller sees them: a part of the search takes two seconds, ignores `limit`, and
    /// is followed by the part from `next` on.
    #[param(min_length = 1, max_length = 200)]
    text: Option<String>,
}

/// A page of jobs, the latest first.
#[derive(Serialize, ToSchema)]
pub(super) struct Jobs {
    jobs: Vec<JobView>,
    /// The cursor of the next page; absent: this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many jobs the search for a text has read.
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<usize>,
}

/// A job.
#[derive(Default, Serialize, ToSchema)]
pub(super) struct JobView {
    id: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender_id: Option<String>,
    /// When it is due, its lease ends, it died, or it ended: in ms since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Wide>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enqueued_at: Option<Wide>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Wide>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crashes: Option<u8>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<Attempt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_bytes: Option<Wide>,
    #[serde(flatten)]
    body: Body,
    /// Why it is where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// A failed attempt, or a redrive.
#[derive(Serialize, ToSchema)]
struct Attempt {
    at: Wide,
    attempt: u16,
    class: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/topics/{topic}/jobs", operation_id = "list_jobs",
    tag = "jobs", summary = "List jobs, the latest first; or find one by the id of its sender",
    params(Listing),
    responses((status = 200, description = "Done", body = Jobs), ReadProblems)
)]
pub(super) async fn list(at: OnTopic, Query(listing): Query<Listing>) -> Result<Json<Jobs>, Problem> {
    let topic = at.topic().await?;
    if let Some(sender_id) = &listing.sender_id {
        let id = JobId::named(sender_id.as_bytes());
        let found = topic.job(id).await.map_err(queue_problem)?;
        let jobs = found.map(|found| whole(&at, id, &found)).into_iter().collect();
        return Ok(Json(Jobs { jobs, next: None, read: None }));
    }
    let place = match listing.state.as_deref() {
        None | Some("waiting") => JobState::Waiting,
        Some("running") => JobState::Leased,
        Some("dead") => JobState::Dead,
        Some(_) => return Err(invalid("state", "Use waiting, running or dead.")),
    };
    let limit = listing.limit.unwrap_or(LIMIT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(invalid("limit", format!("Use 1 to {LIMIT_MAX}.")));
    }
    let after = listing.after.as_deref().map(cursor).transpose()?;
    if let Some(text) = &listing.text {
        if !(1..=TEXT_MAX).contains(&text.chars().count()) {
            return Err(invalid("text", format!("`text` must have 1 to {TEXT_MAX} characters.")));
        }
        let part = find::text(&at.app, &at.visitor, &topic, place, after, text).await?;
        let jobs = part.found.iter().map(|seen| whole_seen(&at, seen)).collect();
        return Ok(Json(Jobs { jobs, next: part.next.map(cursor_text), read: Some(part.read) }));
    }
    let page = topic.previews(place, after, limit).await.map_err(queue_problem)?;
    let jobs = page.jobs.iter().map(|job| preview(&at, job)).collect();
    Ok(Json(Jobs { jobs, next: page.next.map(cursor_text), read: None }))
}

fn cursor_text(next: Listed) -> String {
    format!("{}:{}", next.score, next.id)
}

fn cursor(text: &str) -> Result<Listed, Problem> {
    listed(text).ok_or_else(|| invalid("after", "Use the value of `next` of the page before."))
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}", operation_id = "show_job",
    tag = "jobs", summary = "One job, and why it is where it is",
    responses((status = 200, description = "Done", body = JobView), ReadProblems)
)]
pub(super) async fn show(at: OnTopic) -> Result<Response, Problem> {
    let (topic, id) = at.job().await?;
    let found = found(&topic, id).await?;
    let why = topic.why(id).await.map_err(queue_problem)?;
    let view = JobView { why: Some(reason(&at.visitor, why)), ..whole(&at, id, &found) };
    let tag = match &found {
        Found::Live { job, .. } if at.visitor.sees_bodies() => Some([(header::ETAG, etag(&job.spec.body))]),
        _ => None,
    };
    Ok((tag, Json(view)).into_response())
}

/// The body, byte for byte.
#[utoipa::path(
    get, path = "/api/v1/sources/{source}/topics/{topic}/jobs/{id}/body", operation_id = "show_job_body",
    tag = "jobs", summary = "The body of a job, byte for byte",
    responses((status = 200, description = "Done", body = String, content_type = "application/json"), ReadProblems)
)]
pub(super) async fn body(at: OnTopic) -> Result<Response, Problem> {
    let (topic, id) = at.job().await?;
    match found(&topic, id).await? {
        Found::Live { job, .. } => {
            let is_json = job.spec.codec.unwrap_or(topic.codec()) == JSON;
            let media_type = if is_json { "application/json" } else { "application/octet-stream" };
            let headers = [(header::CONTENT_TYPE, media_type.to_owned()), (header::ETAG, etag(&job.spec.body))];
            Ok((headers, job.spec.body).into_response())
        }
        Found::Ended(_) => Err(Problem::new(UNKNOWN_JOB, "The job has ended; its body is not kept.")),
    }
}

/// The job, or the problem that it is unknown.
pub(super) async fn found(topic: &Topic, id: JobId) -> Result<Found, Problem> {
    topic.job(id).await.map_err(queue_problem)?.ok_or_else(|| Problem::plain(UNKNOWN_JOB))
}

/// Identifies a body, so that an edit names the one that it replaces.
fn etag(body: &[u8]) -> String {
    format!("\"{}\"", &digest(body)[..32])
}

fn preview(at: &OnTopic, previewed: &Previewed) -> JobView {
    let id = previewed.listed.id;
    match &previewed.preview {
        Preview::Live { state, score, job, body_bytes } => {
            let is_whole = Wide::from(job.spec.body.len()) == Wide(*body_bytes);
            let body = if is_whole {
                Body::seen_by(&at.app, &at.visitor, Origin::Topic(&at.names.topic), &job.spec.body)
            } else {
                Body::default()
            };
            JobView { body, body_bytes: Some(Wide(*body_bytes)), ..live(&at.visitor, id, *state, *score, job) }
        }
        Preview::Ended(completion) => ended(id, completion),
        Preview::Unreadable(_) => JobView { id: id.to_string(), state: "unreadable", ..JobView::default() },
    }
}

fn whole(at: &OnTopic, id: JobId, found: &Found) -> JobView {
    match found {
        Found::Ended(completion) => ended(id, completion),
        Found::Live { state, score, job } => JobView {
            body: Body::seen_by(&at.app, &at.visitor, Origin::Topic(&at.names.topic), &job.spec.body),
            body_bytes: Some(Wide::from(job.spec.body.len())),
            ..live(&at.visitor, id, *state, *score, job)
        },
    }
}

fn whole_seen(at: &OnTopic, seen: &Seen) -> JobView {
    match &seen.job {
        Ok(job) => JobView {
            body: Body::seen_by(&at.app, &at.visitor, Origin::Topic(&at.names.topic), &job.spec.body),
            body_bytes: Some(Wide::from(job.spec.body.len())),
            ..live(&at.visitor, seen.id, seen.state, seen.score, job)
        },
        Err(_) => JobView { id: seen.id.to_string(), state: "unreadable", ..JobView::default() },
    }
}

fn ended(id: JobId, completion: &CompletionRecord) -> JobView {
    let end = Some(end(completion.end).to_owned());
    JobView { id: id.to_string(), state: "ended", at: Some(Wide(completion.ended_at)), end, ..JobView::default() }
}

fn live(visitor: &Visitor, id: JobId, state: StoredState, score: u64, job: &Job) -> JobView {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let history = job.error_notes().map(|error| Attempt {
        at: Wide(error.at),
        attempt: error.attempt,
        class: class(error.class).to_owned(),
        error: visitor.sees_bodies().then(|| text(&error.text)),
    });
    JobView {
        id: id.to_string(),
        state: match state {
            StoredState::Waiting(_) => "waiting",
            StoredState::Leased => "running",
            StoredState::Dead => "dead",
        },
        sender_id: sender_id(job),
        at: Some(Wide(score)),
        enqueued_at: Some(Wide(job.enqueued_at)),
        expires_at: job.expires_at.map(Wide),
        priority: Some(priority(job.spec.priority).to_owned()),
        errors: Some(job.errors),
        crashes: Some(job.crashes),
        history: history.collect(),
        ..JobView::default()
    }
}

/// The id that the sender chose.
pub(super) fn sender_id(job: &Job) -> Option<String> {
    job.spec.notes.iter().find_map(|note| match note {
        Note::Name(name) => Some(String::from_utf8_lossy(name).into_owned()),
        _ => None,
    })
}

// The names below are part of the API: they do not change with those of the library's types.

fn end(end: End) -> &'static str {
    match end {
        End::Done => "done",
        End::Expired => "expired",
        End::Discarded => "discarded",
        End::Deleted => "deleted",
        End::Revoked => "revoked",
        End::RevokedAfterLeaseExpiry => "revoked-after-lease-expiry",
    }
}

fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::Urgent => "urgent",
        Priority::High => "high",
        Priority::Normal => "normal",
        Priority::Low => "low",
    }
}

fn class(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Failed => "failed",
        ErrorClass::Crashed => "crashed",
        ErrorClass::LeaseExpired => "lease-expired",
        ErrorClass::Dead => "dead",
    }
}

/// The reason, without the text of an error for those who may not see it.
fn reason(visitor: &Visitor, mut why: Why) -> String {
    if !visitor.sees_bodies()
        && let Why::Dead { error, .. } | Why::Retrying { error, .. } = &mut why
    {
        HIDDEN.clone_into(error);
    }
    why.to_string()
}
