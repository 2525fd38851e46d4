//! `/api/v1`: the JSON API, for programs in any language.
//!
//! * `topics.rs`, `jobs/`, `operations.rs` — what the pages show and do, and enqueues.
//! * `streams/` — the same for streams, and appends. `processes.rs` — the processes that report.
//! * `work/`, `locks.rs`, `caches.rs` — what programs do.
//! * `openapi.rs` — the OpenAPI document, from the handlers.
//! * `limits.rs` — what it says about the limits of fields. `answer.rs`, `body.rs`, `wide.rs` — problems, bodies and numbers as they travel. `rates.rs` — how much a key may ask.
//!
//! docs/spec/console.md specifies it.

mod answer;
mod body;
mod caches;
mod jobs;
mod limits;
mod locks;
mod openapi;
mod operations;
mod processes;
mod rates;
mod streams;
mod topics;
mod wide;
mod work;

pub(crate) use answer::{too_many, with_outcome};

use super::app::App;
use super::on::On;
use super::rights::{Action, Table};
use super::source::Source;
use crate::console::kind::UNKNOWN_SOURCE;
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::Topic;
use evenkeel::stream::admin::{DeadLetters, StreamAdmin};
use evenkeel_link::Link;
use evenkeel_protocol::lock::redis::RedisLock;
use evenkeel_protocol::queue::QueueBackend;
use jobs::{change, dead, enqueue};
use rates::Rates;
use serde::Deserialize;
use streams::{change as groups, dead as letters, entries};
use tokio::sync::Semaphore;
use web::{Kind, Problem};
use work::Holders;

/// Calls that wait for a job or a lock at the same time.
const WAITING_MAX: usize = 1_000;

/// The state of the API.
pub(crate) struct Api {
    pub(crate) rates: Rates,
    pub(crate) holders: Holders,
    /// One permit for each call that waits.
    waiting: Semaphore,
    clock: Clock,
    link: Option<Link>,
}

impl Api {
    pub(crate) fn new(keel: &Keel, clock: Clock) -> Self {
        let link = keel.link().cloned();
        let (rates, holders) = (Rates::new(clock.clone()), Holders::new(clock.clone()));
        Self { rates, holders, waiting: Semaphore::new(WAITING_MAX), clock, link }
    }

    fn link(&self) -> Result<&Link, Problem> {
        self.link
            .as_ref()
            .ok_or_else(|| Problem::new(Kind::UNAVAILABLE, "This source has no Redis. Nothing was changed."))
    }

    fn queue(&self) -> Result<QueueBackend, Problem> {
        self.link().map(|link| QueueBackend::redis(link.clone()))
    }

    fn locks(&self) -> Result<RedisLock, Problem> {
        self.link().map(|link| RedisLock::new(link.clone()))
    }
}

/// Adds the routes of the API.
pub(crate) fn routes(table: Table) -> Table {
    table
        .api_read("/api/v1/openapi.json", Action::Public, openapi::show)
        .api_read("/api/v1/sources", Action::Read, topics::sources)
        .api_read("/api/v1/sources/{source}", Action::Read, topics::overview)
        .api_read("/api/v1/sources/{source}/processes", Action::Read, processes::list)
        .api_read("/api/v1/sources/{source}/topics", Action::Read, topics::list)
        .api_act("/api/v1/sources/{source}/topics", Action::Create, topics::create)
        .api_read("/api/v1/sources/{source}/topics/{topic}", Action::Read, topics::show)
        .api_act("/api/v1/sources/{source}/topics/{topic}/pause", Action::Pause, topics::pause)
        .api_act("/api/v1/sources/{source}/topics/{topic}/resume", Action::Pause, topics::resume)
        .api_read("/api/v1/sources/{source}/topics/{topic}/jobs", Action::Read, jobs::list)
        .api_act("/api/v1/sources/{source}/topics/{topic}/jobs", Action::Enqueue, enqueue::enqueue)
        .api_read("/api/v1/sources/{source}/topics/{topic}/jobs/{id}", Action::Read, jobs::show)
        .api_read("/api/v1/sources/{source}/topics/{topic}/jobs/{id}/body", Action::Bodies, jobs::body)
        .api_act("/api/v1/sources/{source}/topics/{topic}/jobs/{id}/run", Action::Run, change::run)
        .api_act("/api/v1/sources/{source}/topics/{topic}/jobs/{id}/reschedule", Action::Reschedule, change::reschedule)
        .api_act("/api/v1/sources/{source}/topics/{topic}/jobs/{id}/revoke", Action::Revoke, change::revoke)
        .api_act("/api/v1/sources/{source}/topics/{topic}/jobs/{id}/edit", Action::Edit, change::edit)
        .api_act("/api/v1/sources/{source}/topics/{topic}/jobs/{id}/redrive", Action::Redrive, dead::redrive_one)
        .api_act("/api/v1/sources/{source}/topics/{topic}/jobs/{id}/delete", Action::Delete, dead::delete_one)
        .api_read("/api/v1/sources/{source}/topics/{topic}/dead", Action::Read, dead::groups)
        .api_act("/api/v1/sources/{source}/topics/{topic}/dead/redrive", Action::Redrive, dead::redrive)
        .api_act("/api/v1/sources/{source}/topics/{topic}/dead/delete", Action::Delete, dead::delete)
        .api_read("/api/v1/sources/{source}/operations/{id}", Action::Read, operations::show)
        .api_act("/api/v1/sources/{source}/operations/{id}/stop", Action::Redrive, operations::stop)
        .api_act("/api/v1/sources/{source}/topics/{topic}/work", Action::Work, work::work)
        .api_act("/api/v1/sources/{source}/topics/{topic}/heartbeat", Action::Work, work::heartbeat)
        .api_read("/api/v1/sources/{source}/streams", Action::Read, streams::list)
        .api_act("/api/v1/sources/{source}/streams", Action::Create, streams::create)
        .api_read("/api/v1/sources/{source}/streams/{stream}", Action::Read, streams::show)
        .api_read("/api/v1/sources/{source}/streams/{stream}/entries", Action::Read, entries::list)
        .api_act("/api/v1/sources/{source}/streams/{stream}/entries", Action::Append, entries::append)
        .api_act("/api/v1/sources/{source}/streams/{stream}/groups/{group}/pause", Action::Pause, groups::pause)
        .api_act("/api/v1/sources/{source}/streams/{stream}/groups/{group}/resume", Action::Pause, groups::resume)
        .api_act("/api/v1/sources/{source}/streams/{stream}/groups/{group}/seek", Action::Seek, groups::seek)
        .api_act(
            "/api/v1/sources/{source}/streams/{stream}/groups/{group}/unregister",
            Action::Unregister,
            groups::unregister,
        )
        .api_read("/api/v1/sources/{source}/streams/{stream}/groups/{group}/dead", Action::Read, letters::list)
        .api_act(
            "/api/v1/sources/{source}/streams/{stream}/groups/{group}/dead/replay",
            Action::Redrive,
            letters::replay,
        )
        .api_act(
            "/api/v1/sources/{source}/streams/{stream}/groups/{group}/dead/delete",
            Action::Delete,
            letters::delete,
        )
        .api_read("/api/v1/sources/{source}/locks", Action::Read, locks::show)
        .api_act("/api/v1/sources/{source}/locks/break", Action::Break, locks::break_lock)
        .api_act("/api/v1/sources/{source}/locks/acquire", Action::Lock, locks::acquire)
        .api_act("/api/v1/sources/{source}/locks/renew", Action::Lock, locks::renew)
        .api_act("/api/v1/sources/{source}/locks/release", Action::Lock, locks::release)
        .api_act("/api/v1/sources/{source}/caches/{cache}/invalidate", Action::Invalidate, caches::invalidate)
}

/// A source in a path.
#[derive(Deserialize)]
struct SourceNames {
    source: String,
}

/// A topic in a path, or a job of it.
#[derive(Deserialize)]
struct TopicNames {
    source: String,
    topic: String,
    /// The id of the job; empty if the path has none.
    #[serde(default)]
    id: String,
}

/// An operation in a path.
#[derive(Deserialize)]
struct OperationNames {
    source: String,
    id: String,
}

/// A stream in a path, or a group of it.
#[derive(Deserialize)]
struct StreamNames {
    source: String,
    stream: String,
    /// Empty if the path has none.
    #[serde(default)]
    group: String,
}

type OnSource = On<SourceNames>;
type OnTopic = On<TopicNames>;
type OnOperation = On<OperationNames>;
type OnStream = On<StreamNames>;

impl OnSource {
    fn source(&self) -> Result<&Source, Problem> {
        source(&self.app, &self.names.source)
    }
}

impl OnTopic {
    /// Refuses what the visitor may not do to the topic.
    fn check(&self, action: Action) -> Result<(), Problem> {
        self.visitor.check(action, &self.names.topic)
    }

    async fn topic(&self) -> Result<Topic, Problem> {
        source(&self.app, &self.names.source)?.topic(&self.names.topic).await
    }

    async fn job(&self) -> Result<(Topic, JobId), Problem> {
        Ok((self.topic().await?, jobs::job_id(&self.names.id)?))
    }
}

impl OnStream {
    /// Refuses what the visitor may not do to the stream.
    fn check(&self, action: Action) -> Result<(), Problem> {
        self.visitor.check(action, &self.names.stream)
    }

    async fn stream(&self) -> Result<StreamAdmin, Problem> {
        source(&self.app, &self.names.source)?.stream(&self.names.stream).await
    }

    /// The dead letters of the group.
    async fn letters(&self) -> Result<DeadLetters, Problem> {
        source(&self.app, &self.names.source)?.letters(&self.names.stream, &self.names.group).await
    }
}

/// The source of this name. Today a console has one, which is also called `default`.
fn source<'a>(app: &'a App, name: &str) -> Result<&'a Source, Problem> {
    if name == "default" || name == app.source.name() {
        return Ok(&app.source);
    }
    Err(Problem::new(UNKNOWN_SOURCE, format!("There is no source {name:?}. This console has `default`.")))
}
