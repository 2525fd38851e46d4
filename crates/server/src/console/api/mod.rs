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

use super::on::{On, OnSource, OnStream, OnTopic};
use super::rights::{Action, Table};
use crate::operations::{Done, Operation};
use axum::Json;
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel_link::Link;
use evenkeel_protocol::lock::redis::RedisLock;
use evenkeel_protocol::queue::QueueBackend;
use jobs::change::{self, Changed};
use jobs::{dead, enqueue};
use rates::Rates;
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

/// A path below a source.
macro_rules! of_source {
    ($path:literal) => {
        concat!("/api/v1/sources/{source}/", $path)
    };
}

/// Adds the routes of the API.
pub(crate) fn routes(table: Table) -> Table {
    table
        .api_read("/api/v1/openapi.json", Action::Public, openapi::show)
        .api_read("/api/v1/sources", Action::Read, topics::sources)
        .api_read("/api/v1/sources/{source}", Action::Read, topics::overview)
        .api_read(of_source!("processes"), Action::Read, processes::list)
        .api_read(of_source!("topics"), Action::Read, topics::list)
        .api_act(of_source!("topics"), Action::Create, topics::create)
        .api_read(of_source!("topics/{topic}"), Action::Read, topics::show)
        .api_act(of_source!("topics/{topic}/pause"), Action::Pause, topics::pause)
        .api_act(of_source!("topics/{topic}/resume"), Action::Pause, topics::resume)
        .api_read(of_source!("topics/{topic}/jobs"), Action::Read, jobs::list)
        .api_act(of_source!("topics/{topic}/jobs"), Action::Enqueue, enqueue::enqueue)
        .api_read(of_source!("topics/{topic}/jobs/{id}"), Action::Read, jobs::show)
        .api_read(of_source!("topics/{topic}/jobs/{id}/body"), Action::Bodies, jobs::body)
        .api_act(of_source!("topics/{topic}/jobs/{id}/run"), Action::Run, change::run)
        .api_act(of_source!("topics/{topic}/jobs/{id}/reschedule"), Action::Reschedule, change::reschedule)
        .api_act(of_source!("topics/{topic}/jobs/{id}/revoke"), Action::Revoke, change::revoke)
        .api_act(of_source!("topics/{topic}/jobs/{id}/edit"), Action::Edit, change::edit)
        .api_act(of_source!("topics/{topic}/jobs/{id}/redrive"), Action::Redrive, dead::redrive_one)
        .api_act(of_source!("topics/{topic}/jobs/{id}/delete"), Action::Delete, dead::delete_one)
        .api_read(of_source!("topics/{topic}/dead"), Action::Read, dead::groups)
        .api_act(of_source!("topics/{topic}/dead/redrive"), Action::Redrive, dead::redrive)
        .api_act(of_source!("topics/{topic}/dead/delete"), Action::Delete, dead::delete)
        .api_read(of_source!("operations/{id}"), Action::Read, operations::show)
        .api_act(of_source!("operations/{id}/stop"), Action::Redrive, operations::stop)
        .api_act(of_source!("topics/{topic}/work"), Action::Work, work::work)
        .api_act(of_source!("topics/{topic}/heartbeat"), Action::Work, work::heartbeat)
        .api_read(of_source!("streams"), Action::Read, streams::list)
        .api_act(of_source!("streams"), Action::Create, streams::create)
        .api_read(of_source!("streams/{stream}"), Action::Read, streams::show)
        .api_read(of_source!("streams/{stream}/entries"), Action::Read, entries::list)
        .api_act(of_source!("streams/{stream}/entries"), Action::Append, entries::append)
        .api_act(of_source!("streams/{stream}/groups/{group}/pause"), Action::Pause, groups::pause)
        .api_act(of_source!("streams/{stream}/groups/{group}/resume"), Action::Pause, groups::resume)
        .api_act(of_source!("streams/{stream}/groups/{group}/seek"), Action::Seek, groups::seek)
        .api_act(of_source!("streams/{stream}/groups/{group}/unregister"), Action::Unregister, groups::unregister)
        .api_read(of_source!("streams/{stream}/groups/{group}/dead"), Action::Read, letters::list)
        .api_act(of_source!("streams/{stream}/groups/{group}/dead/replay"), Action::Redrive, letters::replay)
        .api_act(of_source!("streams/{stream}/groups/{group}/dead/delete"), Action::Delete, letters::delete)
        .api_read(of_source!("locks"), Action::Read, locks::show)
        .api_act(of_source!("locks/break"), Action::Break, locks::break_lock)
        .api_act(of_source!("locks/acquire"), Action::Lock, locks::acquire)
        .api_act(of_source!("locks/renew"), Action::Lock, locks::renew)
        .api_act(of_source!("locks/release"), Action::Lock, locks::release)
        .api_act(of_source!("caches/{cache}/invalidate"), Action::Invalidate, caches::invalidate)
}

impl<N> On<N> {
    /// Does an operation on one thing.
    async fn changed(&self, operation: Operation<'_>, typed: &str) -> Result<Json<Changed>, Problem> {
        let Done { result, .. } = self.perform(operation, typed).await?;
        Ok(Json(Changed { result }))
    }
}
