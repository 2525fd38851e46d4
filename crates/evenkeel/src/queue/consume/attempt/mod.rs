//! One run of the handler, from delivery to outcome.

pub(crate) mod body;
pub(crate) mod row_check;
pub(crate) mod suspects;

use self::row_check::RowCheck;
use self::suspects::SuspectPermit;
use super::delivery::{Delivery, Held, trace_of};
use super::handled::{Handled, Reaction, delay_ms, is_fence, message_of, outcome};
use super::shard::{HandlerResult, ShardWorker};
use crate::handling::cancellation::Cancellation;
use crate::handling::handler::{Handling, IsRunning};
use crate::handling::panics::{catch_panic, catch_panic_of_call};
use crate::queue::consume::shard::heartbeat;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use evenkeel_protocol::codec::error::CodecError;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{Job, Note};
use evenkeel_protocol::queue::steps::{Delivered, Outcome, Pause, ReadStats, Receipt};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tracing::{Instrument, Span};

/// Runs a delivery in a task of its own, with one slot; a suspect also has a place among the suspects.
pub(super) fn start<T: Send + Sync + 'static>(
    worker: &Arc<ShardWorker<T>>,
    delivered: Delivered,
    slot: OwnedSemaphorePermit,
    place: Option<SuspectPermit>,
) {
    let receipt = delivered.receipt;
    let cancellation = Cancellation::default();
    let failures = delivered.job.as_ref().map_or(0, |job| u32::from(job.errors));
    worker.running.add(receipt, failures + 1, cancellation.clone());
    let trace = delivered.job.as_ref().ok().and_then(|job| trace_of(&job.spec.notes)).map(str::to_owned);
    let attempt = tracing::field::Empty;
    let (topic, kind) = (&worker.run.core.name, tracing::field::Empty);
    let span = tracing::info_span!("queue_job", queue = %topic, id = %receipt.id, trace, attempt, otel.kind = kind);
    #[cfg(feature = "otel")]
    crate::trace::describe_attempt(&span, topic, &receipt.id.to_string(), trace.as_deref());
    let (its_worker, its_span) = (Arc::clone(worker), span.clone());
    let run = async move {
        let check = delivered.job.as_ref().ok().map(|job| RowCheck::of(&its_worker, receipt, job));
        let running = IsRunning::new(&its_worker.run.metrics.running);
        let delay = its_worker.run.core.settings.retry_delay;
        let attempt = async {
            tokio::select! {
                biased;
                () = cancellation.cancelled() => None,
                outcome = perform(&its_worker, delivered, (slot, place), cancellation.clone(), &its_span) => outcome,
            }
        };
        // The user's code that decodes, handles and drops values may panic. An attempt without an outcome would hold its lease for the rest
        // of the process.
        let ended = if guard("queue_attempt_caught") { catch_panic(attempt).await } else { Ok(attempt.await) };
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(panic) => {
                tracing::error!(error = %panic, "an attempt panicked outside its handler");
                // The settlement of a lost delivery has no effect: its verdict is `Lost`.
                let error = message_of(&format!("the attempt panicked: {panic}"));
                let outcome = Outcome::Failed { retry_ms: delay.after(1), error };
                Some(match &check {
                    Some(check) => check.ended(outcome).await,
                    None => outcome,
                })
            }
        };
        if let Some(Outcome::Failed { error, .. } | Outcome::Dead { reason: error }) = &outcome {
            crate::trace::failed(&its_span, &String::from_utf8_lossy(error));
        }
        drop((running, check));
        its_worker.ended(&receipt, outcome);
    };
    let task = evenkeel_link::support::spawn(run.instrument(span));
    worker.running.runs_in(&receipt, task);
}

/// Runs the attempt and returns its outcome; `None` if the delivery was lost before it started.
async fn perform<T: Send + Sync + 'static>(
    worker: &ShardWorker<T>,
    delivered: Delivered,
    (_slot, place): (OwnedSemaphorePermit, Option<SuspectPermit>),
    cancellation: Cancellation,
    span: &Span,
) -> Option<Outcome> {
    let run = &worker.run;
    let receipt = delivered.receipt;
    let (_room, job) = match delivered.more {
        None => (None, delivered.job),
        Some(size) => {
            // `alone` describes the previous delivery; reading the record now returns that of this delivery.
            let alone = delivered.job.is_ok_and(|job| job.alone);
            let room = run.bodies.take(size).await;
            let whole = body::fetch(worker, &receipt, size).await?;
            (room, whole.map(|job| Box::new(Job { alone, ..*job })))
        }
    };
    // The report precedes all of the user's code, including the decoding of the body.
    if let Some(place) = &place
        && guard("queue_start_reported_first")
        && !heartbeat::report_begin(worker, &receipt, place).await
    {
        return None;
    }
    let job = match job {
        Ok(job) => job,
        Err(error) => return Some(undecodable(worker, &receipt, &error.to_string())),
    };
    let check = RowCheck::of(worker, receipt, &job);
    let body = match decode(worker, &job) {
        Ok(body) => body,
        Err(message) => {
            if let Err(ended) = check.may_start().await {
                return ended;
            }
            return Some(check.ended(undecodable(worker, &receipt, &message)).await);
        }
    };
    let failures = u32::from(job.errors) + 1;
    if guard("queue_attempt_logged") {
        span.record("attempt", failures);
    }
    let delay = retry_delay(&job).unwrap_or(run.core.settings.retry_delay);
    if delivered.due_at > 0 {
        let late_ms = run.core.store.now_ms().saturating_sub(delivered.due_at);
        run.metrics.lateness_seconds.record(Duration::from_millis(late_ms));
    }
    let exhausted = check.exhausted(&job);
    let held = Held { store: run.core.store.clone(), shard: worker.shard.clone(), receipt };
    let delivery = Delivery::new(body, held, delivered.due_at, *job, cancellation.clone());
    if let Err(ended) = check.may_start().await {
        return ended;
    }
    if let Some(outcome) = exhausted {
        return Some(check.ended(outcome).await);
    }
    let (began, handled) = handle(worker, delivery, place.is_some()).await;
    let has_timed_out = handled.is_err();
    let mut answer = answered(worker, handled);
    if let Err((Reaction::PauseTopic(span), _)) = &mut answer
        && pause_topic(worker, *span).await
    {
        // The pause holds the job back, which ends when an operator resumes the topic.
        *span = Duration::ZERO;
    }
    let outcome = record_result(worker, began, answer, |answer| outcome(answer, receipt.fence, delay, failures));
    let outcome = check.ended(outcome).await;
    if has_timed_out {
        // Nothing may wait after this: an attempt that is canceled has no outcome.
        cancellation.fire();
    }
    Some(outcome)
}

/// Decodes the body of a job. A panic of the codec, or of the type's deserialization, becomes an error.
fn decode<T: Send + Sync + 'static>(worker: &ShardWorker<T>, job: &Job) -> Result<T, String> {
    let (codec, spec) = (&worker.run.core.codec, &job.spec);
    let decode = || match spec.codec {
        Some(other) if other != codec.id() => codec.decode_of(other, &spec.body).unwrap_or_else(|| {
            Err(CodecError::decode("this queue's codec", format!("the body was encoded by codec {other}")))
        }),
        _ => codec.decode(spec.body.clone()),
    };
    let decode = || decode().map_err(|error| error.to_string());
    if !guard("queue_decode_caught") {
        return decode();
    }
    catch_panic_of_call(decode).unwrap_or_else(|panic| Err(format!("decoding panicked: {panic}")))
}

/// Calls the handler; returns the time of the call and its result, or the message of a panic. The outer error says that it ran too long.
async fn handle<T: Send + Sync + 'static>(
    worker: &ShardWorker<T>,
    delivery: Delivery<T>,
    is_suspect: bool,
) -> (Moment, Result<Result<HandlerResult, String>, String>) {
    let run = &worker.run;
    let (limit, clock) = (run.time_limit, &run.core.clock);
    let receipt = delivery.receipt();
    let started = || {
        let now = run.core.clock.now();
        worker.running.started(&receipt, now);
        now
    };
    match &run.handling {
        Handling::One(handler) => {
            (started(), limit.answer(clock, catch_panic(async { handler(delivery).await })).await)
        }
        Handling::Batch(gatherer) => {
            let mut ticket = gatherer.join(delivery, is_suspect);
            ticket.began().await;
            (started(), limit.answer(clock, ticket.answer()).await)
        }
    }
}

/// Pauses all shards, so that no other job meets the unavailable dependency; a shard that is paused already keeps its pause.
/// Returns whether all are paused.
async fn pause_topic<T>(worker: &ShardWorker<T>, span: Duration) -> bool {
    let core = &worker.run.core;
    let (mut has_paused, mut are_all) = (false, guard("queue_pause_holds_its_job"));
    for shard in core.router.shards().iter() {
        let paused = async {
            let is_running = core.store.run(shard, &ReadStats).await?.paused_until.is_none();
            if is_running && guard("queue_pause_topic") {
                core.store.run(shard, &Pause(Some(core.store.now_ms().saturating_add(delay_ms(span))))).await?;
            }
            Ok::<_, QueueError>(is_running)
        };
        match paused.await {
            Ok(is_new) => has_paused |= is_new,
            Err(error) => {
                worker.run.metrics.failed("pause", &error);
                are_all = false;
            }
        }
    }
    // Not for each handler that meets the dependency until all jobs have stopped.
    if has_paused {
        tracing::warn!(queue = %core.name, seconds = span.as_secs_f64(), "a handler paused the topic");
    }
    are_all
}

fn record_result<T>(
    worker: &ShardWorker<T>,
    began: Moment,
    answer: HandlerResult,
    outcome: impl FnOnce(HandlerResult) -> Outcome,
) -> Outcome {
    let run = &worker.run;
    if let Err((_, message)) = &answer {
        tracing::warn!(error = %message, "the handler failed");
    }
    if let Ok(Handled::FenceSeen(fence)) = &answer
        && is_fence(*fence)
    {
        worker.fence_floor.fetch_max(*fence, SeqCst);
    }
    let outcome = outcome(answer);
    run.metrics.handlers.record(run.core.clock.now().since(began));
    run.metrics.handled(&outcome);
    outcome
}

/// The result of a handler that has returned, has panicked, or ran too long.
fn answered<T>(worker: &ShardWorker<T>, handled: Result<Result<HandlerResult, String>, String>) -> HandlerResult {
    match handled {
        Ok(answer) => answer.unwrap_or_else(|panic| panicked(&panic)),
        Err(message) => {
            worker.run.metrics.timed_out.increment(1);
            Err((Reaction::Retry, message))
        }
    }
}

fn panicked(panic: &str) -> HandlerResult {
    if guard("queue_panic_is_an_error") {
        Err((Reaction::Retry, format!("the handler panicked: {panic}")))
    } else {
        Ok(Handled::Done)
    }
}

fn undecodable<T>(worker: &ShardWorker<T>, receipt: &Receipt, message: &str) -> Outcome {
    tracing::error!(queue = %worker.run.core.name, id = %receipt.id, error = message, "the body of a job could not be decoded");
    worker.run.metrics.undecodable.increment(1);
    let reason = message_of(&format!("undecodable: {message}"));
    if guard("queue_undecodable_is_dead") {
        Outcome::Dead { reason }
    } else {
        Outcome::Failed { retry_ms: 0, error: reason }
    }
}

fn retry_delay(job: &Job) -> Option<evenkeel_protocol::queue::retry_delay::RetryDelay> {
    job.spec.notes.iter().find_map(|note| if let Note::RetryDelay(delay) = note { Some(*delay) } else { None })
}
