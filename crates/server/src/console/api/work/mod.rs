//! Workers in other languages: claim, settle, heartbeat.
//!
//! The server needs nothing about a worker; what it remembers is shown on the pages of jobs. Everything that makes a call repeatable is in the call: worker and sequence give the number and
//! the token under which Redis keeps the reply, so that any instance of the console answers a repeat as the first one did.

mod claim;
mod holders;
mod wire;

use super::body::Body;
use super::openapi::ActProblems;
use super::wide::Wide;
use super::{OnTopic, too_many};
use crate::console::rights::Action;
use crate::console::source::queue_problem;
use crate::kind::ROWS_DECIDE;
use axum::Json;
use axum::response::{IntoResponse, Response};
use claim::{Claims, Turn};
use evenkeel::queue::topic::Topic;
use evenkeel_protocol::queue::steps::{Heartbeat, Report, Shard};
pub(crate) use holders::Holders;
use std::collections::BTreeMap;
use std::time::Duration;
use web::{JsonBody, Problem};
use wire::{Call, Given, Held, Pulse, Worked, checked};

/// The pause between two looks of a call that waits.
const PAUSE: Duration = Duration::from_millis(250);

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/work", tag = "programs", summary = "Settle jobs, and claim others",
    request_body = Call,
    responses((status = 200, description = "Done", body = Worked), ActProblems)
)]
pub(super) async fn work(at: OnTopic, JsonBody(call): JsonBody<Call>) -> Result<Response, Problem> {
    at.visitor.check(Action::Work, &at.names.topic)?;
    checked(&call)?;
    let arrived = at.app.api.clock.now();
    let handle = handle(&at).await?;
    let turn = Turn::new(&at.app, &at.visitor, &handle, &call)?;
    // Settling first and returning at once: a later look would replace the verdicts that a repeat must find.
    let waits = call.wait_ms > 0 && call.settle.is_empty() && call.want > 0;
    let permit = if waits { at.app.api.waiting.try_acquire().ok() } else { None };
    if waits && permit.is_none() {
        return Ok(too_many("Too many calls wait.", Duration::from_secs(1)));
    }
    let until = arrived + Duration::from_millis(call.wait_ms.into());
    let mut stopping = at.app.stopping.clone();
    let mut claims = Claims::new(call.settle.len());
    loop {
        claims.began = at.app.api.clock.now();
        turn.look(&mut claims).await?;
        let now = at.app.api.clock.now();
        if !waits || !claims.jobs.is_empty() || now >= until {
            break;
        }
        let pause = PAUSE.min(until.since(now));
        let is_over = tokio::select! {
            () = at.app.api.clock.sleep(pause) => false,
            _ = stopping.wait_for(|is_stopping| *is_stopping) => true,
        };
        if is_over {
            break;
        }
        claims.look += 1;
    }
    drop(permit);
    let waited_ms = u64::try_from(claims.began.since(arrived).as_millis()).unwrap_or(u64::MAX);
    let began = claims.began;
    let jobs = claims.jobs.into_iter().map(|(at, delivered)| {
        // The lease counts from the look that granted it, the answer from the last look.
        let before = u64::try_from(began.since(at).as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        Given { lease_ms: delivered.lease_ms.saturating_sub(if at == began { 0 } else { before }), ..delivered }
    });
    let verdicts = claims.verdicts.into_iter().map(|verdict| verdict.unwrap_or("lost")).collect();
    Ok(Json(Worked { verdicts, jobs: jobs.collect(), waited_ms }).into_response())
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/topics/{topic}/heartbeat", tag = "programs", summary = "Extend leases, and report the start of handlers",
    request_body = Pulse,
    responses((status = 200, description = "Done", body = Held), ActProblems)
)]
pub(super) async fn heartbeat(at: OnTopic, JsonBody(pulse): JsonBody<Pulse>) -> Result<Json<Held>, Problem> {
    at.visitor.check(Action::Work, &at.names.topic)?;
    wire::checked_pulse(&pulse)?;
    let handle = handle(&at).await?;
    let (queue, worker) = (at.app.api.queue()?, claim::worker(&at.visitor, &pulse.worker));
    let receipts = pulse.held.iter().map(|receipt| (receipt, Report::WAITS));
    let receipts = receipts.chain(pulse.started.iter().map(|receipt| (receipt, Report::STARTED)));
    let mut shards: BTreeMap<u16, Vec<(usize, _)>> = BTreeMap::new();
    for (place, (receipt, report)) in receipts.enumerate() {
        let (shard, receipt) = receipt.parse()?;
        shards.entry(shard).or_default().push((place, (receipt, report)));
    }
    let mut held = vec![false; pulse.held.len() + pulse.started.len()];
    for (number, deliveries) in shards {
        if number >= handle.shards() {
            continue;
        }
        let shard = Shard::new(at.app.api.link()?.prefix(), handle.name(), number);
        let (places, deliveries): (Vec<usize>, Vec<_>) = deliveries.into_iter().unzip();
        let heartbeat = Heartbeat { worker, lease_ms: pulse.lease_ms.into(), deliveries };
        let answers = queue.run(&shard, &heartbeat).await.map_err(queue_problem)?;
        for ((receipt, _), _) in heartbeat.deliveries.iter().zip(&answers).filter(|(_, is_held)| **is_held) {
            at.app.api.holders.note((handle.name(), *receipt), (&at.visitor.name, &pulse.worker), heartbeat.lease_ms);
        }
        places.into_iter().zip(answers).for_each(|(place, answer)| held[place] = answer);
    }
    let started = held.split_off(pulse.held.len());
    Ok(Json(Held { held, started }))
}

/// The topic, unless rows decide about its jobs: their begin and done are transactions, which this protocol does not have.
async fn handle(at: &OnTopic) -> Result<Topic, Problem> {
    let handle = at.source()?.keel.topic(&at.names.topic).await.map_err(queue_problem)?;
    if handle.needs_database() { Err(Problem::plain(ROWS_DECIDE)) } else { Ok(handle) }
}
