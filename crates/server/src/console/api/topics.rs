//! Sources and topics: figures, problems, pause and resume.

use super::jobs::change::Changed;
use super::openapi::{ActProblems, ReadProblems};
use super::wide::Wide;
use super::{OnSource, OnTopic};
use crate::console::app::App;
use crate::console::collector::Snapshot;
use crate::console::source::queue_problem;
use crate::operations::{self, Of};
use axum::Json;
use axum::extract::State;
use evenkeel::queue::topic::TopicStats;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{JsonBody, Problem};

/// The sources of this console.
#[derive(Serialize, ToSchema)]
pub(crate) struct Sources {
    sources: [SourceView; 1],
}

#[derive(Serialize, ToSchema)]
struct SourceView {
    name: &'static str,
    prefix: String,
    has_database: bool,
}

#[utoipa::path(
    get, path = "/api/v1/sources", operation_id = "list_sources", tag = "topics", summary = "List the sources",
    responses((status = 200, description = "Done", body = Sources), ReadProblems)
)]
pub(super) async fn sources(State(app): State<App>) -> Json<Sources> {
    let (prefix, has_database) = (app.source.name().to_owned(), app.source.database.is_some());
    Json(Sources { sources: [SourceView { name: "default", prefix, has_database }] })
}

/// What is wrong, and how old the figures are.
#[derive(Serialize, ToSchema)]
pub(crate) struct Overview {
    /// When the figures were read, in ms since 1970; absent: never.
    read_at: Option<Wide>,
    /// Why the last reading failed.
    failed: Option<String>,
    problems: Vec<Found>,
    topics: usize,
    outbox: Option<OutboxFigures>,
}

#[derive(Serialize, ToSchema)]
struct Found {
    id: String,
    severity: &'static str,
    text: String,
    since: String,
}

#[derive(Serialize, ToSchema)]
struct OutboxFigures {
    parked: Wide,
    oldest_ms: Option<Wide>,
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}", operation_id = "show_source",
    tag = "topics", summary = "Problems, and the age of the figures",
    responses((status = 200, description = "Done", body = Overview), ReadProblems)
)]
pub(super) async fn overview(at: OnSource) -> Result<Json<Overview>, Problem> {
    at.source()?;
    let snapshot = at.app.collector.snapshot();
    let problems = snapshot.troubles.iter().map(|trouble| Found {
        id: trouble.id.clone(),
        severity: if trouble.is_bad { "bad" } else { "warning" },
        text: trouble.text.clone(),
        since: trouble.since.clone(),
    });
    let outbox = snapshot.outbox.as_ref().map(|outbox| OutboxFigures {
        parked: Wide(outbox.parked + outbox.keys_parked),
        oldest_ms: outbox.oldest_ms.map(Wide),
    });
    Ok(Json(Overview {
        read_at: read_at(&snapshot),
        failed: snapshot.failed.clone(),
        problems: problems.collect(),
        topics: snapshot.topics.len(),
        outbox,
    }))
}

fn read_at(snapshot: &Snapshot) -> Option<Wide> {
    (snapshot.at > 0).then_some(Wide(snapshot.at))
}

/// The figures of one topic.
#[derive(Serialize, ToSchema)]
pub(crate) struct TopicView {
    name: String,
    shards: usize,
    waiting: Wide,
    due: Wide,
    running: Wide,
    dead: Wide,
    late_ms: Wide,
    consumers: Wide,
    lease_expired: Wide,
    done: Wide,
    retried: Wide,
    died: Wide,
    is_paused: bool,
    /// The end of a pause, in ms since 1970; absent: the topic is not paused, or until it is resumed.
    paused_until: Option<Wide>,
    needs_database: bool,
}

impl TopicView {
    fn of(name: &str, stats: &TopicStats, needs_database: bool) -> Self {
        let total = &stats.total;
        Self {
            name: name.to_owned(),
            shards: stats.shards.len(),
            waiting: Wide(stats.waiting()),
            due: Wide(stats.due()),
            running: Wide(stats.running()),
            dead: Wide(stats.dead()),
            late_ms: Wide(stats.late_ms()),
            consumers: Wide(total.workers),
            lease_expired: Wide(total.lease_expired),
            done: Wide(total.totals.done),
            retried: Wide(total.totals.retried),
            died: Wide(total.totals.died),
            is_paused: total.paused_until.is_some(),
            paused_until: total.paused_until.filter(|until| *until != u64::MAX).map(Wide),
            needs_database,
        }
    }
}

/// All topics, as the console read them last.
#[derive(Serialize, ToSchema)]
pub(crate) struct Topics {
    read_at: Option<Wide>,
    topics: Vec<TopicView>,
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/topics", operation_id = "list_topics",
    tag = "topics", summary = "List the topics with their figures",
    responses((status = 200, description = "Done", body = Topics), ReadProblems)
)]
pub(super) async fn list(at: OnSource) -> Result<Json<Topics>, Problem> {
    at.source()?;
    let snapshot = at.app.collector.snapshot();
    let of = |topic: &crate::console::collector::TopicFigures| {
        TopicView::of(&topic.name, &topic.stats, topic.needs_database)
    };
    Ok(Json(Topics { read_at: read_at(&snapshot), topics: snapshot.topics.iter().map(of).collect() }))
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/topics/{topic}", operation_id = "show_topic",
    tag = "topics", summary = "Figures of a topic, read now",
    responses((status = 200, description = "Done", body = TopicView), ReadProblems)
)]
pub(super) async fn show(at: OnTopic) -> Result<Json<TopicView>, Problem> {
    let topic = at.topic().await?;
    let stats = topic.stats().await.map_err(queue_problem)?;
    Ok(Json(TopicView::of(topic.name(), &stats, topic.needs_database())))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTopic {
    #[schema(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$")]
    name: String,
    /// The default is 1.
    #[serde(default, deserialize_with = "web::whole_number")]
    #[schema(minimum = 1, maximum = 1024)]
    shards: Option<u16>,
    /// How many attempts follow a failed first one; the default is 5.
    #[serde(default, deserialize_with = "web::whole_number")]
    #[schema(maximum = 65535)]
    retries: Option<u16>,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics", operation_id = "create_topic",
    tag = "topics", summary = "Register a topic whose jobs have JSON bodies; one that exists stays as it is",
    request_body = NewTopic,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(super) async fn create(at: OnSource, JsonBody(new): JsonBody<NewTopic>) -> Result<Json<Changed>, Problem> {
    at.changed(operations::create::topic(&at.source()?.keel, &new.name, new.shards, new.retries), "").await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pause {
    /// The end of the pause, in ms since 1970, in the future and at most a hundred years away; without it: until resumed.
    #[schema(value_type = Option<String>, pattern = "^([1-9][0-9]{11}|[1-4][0-9]{12})$")]
    until: Option<Wide>,
}

impl Pause {
    pub(super) fn until(&self) -> Option<u64> {
        self.until.map(|Wide(until)| until)
    }
}

/// An empty object.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Whether consumers get jobs or entries.
#[derive(Serialize, ToSchema)]
pub(crate) struct Paused {
    pub(super) is_paused: bool,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/pause", operation_id = "pause_topic",
    tag = "topics", summary = "Pause a topic: running jobs continue",
    extensions(("x-refused-by-state" = json!(true))),
    request_body = Pause,
    responses((status = 200, description = "Done", body = Paused), ActProblems)
)]
pub(super) async fn pause(at: OnTopic, JsonBody(pause): JsonBody<Pause>) -> Result<Json<Paused>, Problem> {
    let (now, topic) = (at.app.store_now(), at.topic().await?);
    at.perform(operations::pause(Of::Topic(&topic), pause.until(), now)?, "").await?;
    Ok(Json(Paused { is_paused: true }))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/resume", operation_id = "resume_topic",
    tag = "topics", summary = "Resume a topic",
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Paused), ActProblems)
)]
pub(super) async fn resume(at: OnTopic, JsonBody(Nothing {}): JsonBody<Nothing>) -> Result<Json<Paused>, Problem> {
    at.perform(operations::resume(Of::Topic(&at.topic().await?)), "").await?;
    Ok(Json(Paused { is_paused: false }))
}
