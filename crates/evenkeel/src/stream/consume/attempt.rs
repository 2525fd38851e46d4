//! One run of the handler, from delivery to outcome.

#[cfg(feature = "lock")]
use super::entry::HeldLock;
use super::entry::{Entry, failures_of};
#[cfg(feature = "lock")]
use super::exclusive;
use super::handled::{HandlerResult, Reaction, dead, delay_ms, outcome};
use super::partition::{Message, Worker};
use super::run::{Run, Slot};
use crate::handling::cancellation::Cancellation;
use crate::handling::handler::{Handling, IsRunning};
use crate::handling::panics::{catch_panic, catch_panic_of_call};
use evenkeel_link::support::guard;
use evenkeel_protocol::codec::error::CodecError;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::entry::Record;
use evenkeel_protocol::stream::steps::{Delivered, Delivery, Outcome, Pause, ReadStats, Reply};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedRwLockWriteGuard, oneshot};
use tokio::task::JoinHandle;
use tracing::Instrument;

/// An entry is a suspect after this many deliveries in a row without an outcome. The first death of a process makes none, because every
/// entry that it had would be one.
const LAPSES_MIN: u32 = 2;

/// The tokens of an attempt.
#[derive(Clone, Copy)]
pub(super) struct Tokens {
    pub(super) session: u64,
    pub(super) fence: u64,
    pub(super) delivery: Delivery,
}

/// Runs a delivery in a task of its own, with one slot.
pub(super) fn start<T: Send + Sync + 'static>(
    worker: &Arc<Worker<T>>,
    tokens: Tokens,
    delivered: Delivered,
    slot: Slot,
    cancellation: Cancellation,
) -> JoinHandle<()> {
    let worker = Arc::clone(worker);
    let base = &worker.run.core.base;
    let failures = failures_of(&delivered) + 1;
    let span = tracing::info_span!(
        "stream_entry", stream = %base.name, group = %worker.run.group, partition = worker.number, id = %delivered.id,
        attempt = failures
    );
    let run = async move {
        let run = &worker.run;
        let flying = run.in_flight.enter(worker.number, delivered.id).await;
        let running = IsRunning::new(&run.metrics.running);
        let attempt = async {
            tokio::select! {
                biased;
                () = cancellation.cancelled() => None,
                outcome = perform(&worker, tokens, &delivered, cancellation.clone()) => outcome,
            }
        };
        // The user's code that decodes, handles and drops values may panic. An attempt without an outcome would hold its entry for the rest of
        // the process.
        let outcome = catch_panic(attempt).await.unwrap_or_else(|panic| {
            tracing::error!(error = %panic, "an attempt panicked outside its handler");
            Some(outcome(Err((Reaction::Retry, format!("the attempt panicked: {panic}"))), &run.settings, failures))
        });
        drop((running, flying));
        worker.send(Message::Ended { session: tokens.session, delivery: tokens.delivery, outcome });
        drop(slot);
    };
    evenkeel_link::support::spawn(run.instrument(span))
}

/// Runs the attempt and returns its outcome; `None` if the delivery was lost before it started.
async fn perform<T: Send + Sync + 'static>(
    worker: &Worker<T>,
    tokens: Tokens,
    delivered: &Delivered,
    cancellation: Cancellation,
) -> Option<Outcome> {
    let run = &worker.run;
    let tries = delivered.tries.as_ref();
    let crashes = tries.map_or(0, |tries| tries.crashes);
    if crashes > 0 && crashes >= run.settings.crashes_max {
        tracing::error!(crashes, "an entry has crashed its process too often");
        let reason = format!("its process died {crashes} times while it ran alone");
        return Some(dead(&reason, &run.settings));
    }
    let is_suspect = crashes > 0 || tries.is_some_and(|tries| tries.lease_expiries(delivered.count) >= LAPSES_MIN);
    let is_suspect = is_suspect && guard("stream_suspect_alone");
    #[cfg(feature = "lock")]
    if let Some(locks) = &run.settings.exclusive {
        let outcome = Box::pin(exclusive::perform(worker, tokens, delivered, cancellation, locks, is_suspect)).await;
        return outcome.inspect(|outcome| run.metrics.handled(outcome));
    }
    // What is rare is boxed, because each attempt is moved into a task of its own.
    let call = call(
        worker,
        tokens,
        delivered,
        cancellation,
        is_suspect,
        #[cfg(feature = "lock")]
        None,
    );
    let outcome = if is_suspect {
        Box::pin(alone(worker, tokens, call)).await?
    } else {
        let _among_others = Arc::clone(&run.gate).read_owned().await;
        call.await
    };
    run.metrics.handled(&outcome);
    Some(outcome)
}

/// Runs a suspect while no other entry runs in this process, after the store knows. Once it has run for the length of a lease, others run
/// again: it does not kill its process at once.
pub(super) async fn alone<T: Send + Sync + 'static>(
    worker: &Worker<T>,
    tokens: Tokens,
    call: impl Future<Output = Outcome>,
) -> Option<Outcome> {
    let run = &worker.run;
    let clock = &run.core.base.clock;
    let place = place_alone(run).await;
    if !worker.report(tokens, true).await.unwrap_or(false) {
        return None;
    }
    let mut call = std::pin::pin!(call);
    if let Ok(outcome) = clock.timeout(run.settings.lease, &mut call).await {
        return Some(outcome);
    }
    let reported = worker.report(tokens, false);
    tokio::select! {
        biased;
        outcome = &mut call => return Some(outcome),
        _ = reported => {}
    }
    let _among_others = place.downgrade();
    Some(call.await)
}

/// Waits until no other entry runs. Gives way from time to time, so that a handler that hangs does not stop all others.
async fn place_alone<T>(run: &Run<T>) -> OwnedRwLockWriteGuard<()> {
    let clock = &run.core.base.clock;
    loop {
        let wait_max = (run.settings.lease / 3).mul_f64(0.5 + rand::random::<f64>() / 2.0);
        if let Ok(place) = clock.timeout(wait_max, Arc::clone(&run.gate).write_owned()).await {
            return place;
        }
        clock.sleep(wait_max).await;
    }
}

impl<T> Worker<T> {
    /// Asks the worker to report whether the delivery runs alone; resolves to whether the delivery is current.
    fn report(&self, tokens: Tokens, alone: bool) -> oneshot::Receiver<bool> {
        let (reply, reported) = oneshot::channel();
        self.send(Message::Alone { session: tokens.session, delivery: tokens.delivery, alone, reply });
        reported
    }
}

/// Decodes the entry and calls the handler.
pub(super) async fn call<T: Send + Sync + 'static>(
    worker: &Worker<T>,
    tokens: Tokens,
    delivered: &Delivered,
    cancellation: Cancellation,
    is_alone: bool,
    #[cfg(feature = "lock")] lock: Option<HeldLock>,
) -> Outcome {
    let run = &worker.run;
    let (value, record) = match decode(run, delivered) {
        Ok(decoded) => decoded,
        Err(message) => return undecodable(run, &message),
    };
    if delivered.count == 1 {
        let late_ms = run.core.base.store.now_ms().saturating_sub(delivered.id.ms);
        run.metrics.latency_seconds.record(Duration::from_millis(late_ms));
    }
    let entry = Entry::new(value, worker.number, tokens.fence, delivered, record, cancellation.clone());
    #[cfg(feature = "lock")]
    let entry = entry.with_lock(lock);
    let mut began = run.core.base.clock.now();
    let answer = match &run.handling {
        Handling::One(handler) => in_time(run, &cancellation, catch_panic(async { handler(entry).await })).await,
        Handling::Batch(gatherer) => {
            let mut ticket = gatherer.join(entry, is_alone);
            ticket.began().await;
            began = run.core.base.clock.now();
            in_time(run, &cancellation, ticket.answer()).await
        }
    };
    run.metrics.handler_seconds.record(run.core.base.clock.now().since(began));
    let mut answer = answer.unwrap_or_else(|panic| panicked(&panic));
    if let Err((_, message)) = &answer {
        tracing::warn!(error = %message, "the handler failed");
    }
    if let Err((Reaction::PauseGroup(span), _)) = &mut answer
        && Box::pin(pause_group(run, *span)).await
    {
        // The pause holds the entry back, which ends when an operator resumes the group.
        *span = Duration::from_millis(1);
    }
    outcome(answer, &run.settings, failures_of(delivered) + 1)
}

/// Drops a handler that has run too long, which is an error of its entry.
async fn in_time<T>(
    run: &Run<T>,
    cancellation: &Cancellation,
    handled: impl Future<Output = Result<HandlerResult, String>>,
) -> Result<HandlerResult, String> {
    match run.time_limit.answer(&run.core.base.clock, handled).await {
        Ok(answer) => answer,
        Err(message) => {
            run.metrics.timed_out.increment(1);
            // Nothing may wait between this and the outcome: a delivery that is canceled has none.
            cancellation.fire();
            Ok(Err((Reaction::Retry, message)))
        }
    }
}

fn panicked(panic: &str) -> HandlerResult {
    if guard("stream_panic_is_an_error") {
        Err((Reaction::Retry, format!("the handler panicked: {panic}")))
    } else {
        Ok(super::handled::Handled::Done)
    }
}

/// Decodes an entry. A panic of the codec, or of the type's deserialization, becomes an error.
fn decode<T: 'static>(run: &Run<T>, delivered: &Delivered) -> Result<(T, Record), String> {
    let record = Record::decode(&delivered.record).map_err(|error| error.to_string())?;
    let codec = &run.core.codec;
    let decode = || match record.codec {
        other if other != codec.id() && guard("stream_entry_codec") => {
            codec.decode_of(other, &record.body).unwrap_or_else(|| {
                Err(CodecError::decode("this stream's codec", format!("the value was encoded by codec {other}")))
            })
        }
        _ => codec.decode(record.body.clone()),
    };
    let decoded = catch_panic_of_call(|| decode().map_err(|error| error.to_string()));
    decoded.unwrap_or_else(|panic| Err(format!("decoding panicked: {panic}"))).map(|value| (value, record))
}

fn undecodable<T>(run: &Run<T>, message: &str) -> Outcome {
    tracing::error!(error = message, "an entry could not be decoded");
    run.metrics.undecodable.increment(1);
    let reason = format!("undecodable: {message}");
    if guard("stream_undecodable_is_dead") {
        dead(&reason, &run.settings)
    } else {
        Outcome::Retry { delay_ms: 0, error: reason.into() }
    }
}

/// Pauses the group in all partitions, so that no other entry meets the unavailable dependency; a partition that is paused already keeps its
/// pause. Returns whether all are paused.
async fn pause_group<T>(run: &Run<T>, span: Duration) -> bool {
    let base = &run.core.base;
    let until = base.store.now_ms().saturating_add(delay_ms(span));
    let (mut has_paused, mut are_all) = (false, guard("stream_pause_holds_its_entry"));
    for partition in &base.partitions {
        let paused = async {
            let is_paused = match base.store.run(partition, &ReadStats { group: run.group.clone() }).await? {
                Reply::Done(stats) => stats.paused_until.is_some(),
                _ => true,
            };
            if !is_paused {
                base.store.run(partition, &Pause { group: run.group.clone(), until: Some(until) }).await?;
            }
            Ok::<_, StreamError>(!is_paused)
        };
        match paused.await {
            Ok(is_new) => has_paused |= is_new,
            Err(error) => {
                run.metrics.failed("pause", &error);
                are_all = false;
            }
        }
    }
    // Not for each handler that meets the dependency until all entries have stopped.
    if has_paused {
        tracing::warn!(stream = %base.name, group = %run.group, seconds = span.as_secs_f64(), "a handler paused the group");
    }
    are_all
}
