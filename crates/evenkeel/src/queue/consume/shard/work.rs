//! The loop that settles finished jobs and claims due ones, in one call.

use super::{Inbox, ShardWorker};
use crate::handling::handler::Handling;
use crate::handling::phase::{Phase, reached};
use crate::queue::consume::attempt;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::{Backoff, guard};
use evenkeel_link::{Link, LinkError, Token};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::steps::Room;
use evenkeel_protocol::queue::steps::{Claimed, ITEMS_MAX, Next, Outcome, Receipt, SettleAndClaim, Settled, Verdict};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// The maximum number of settlements in one call; the rest of its items may be claims.
const SETTLEMENTS_MAX: usize = 250;
/// The polling interval without markers, with 25 % jitter.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// The backoff between repetitions of an unanswered call.
const REPEAT: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };
/// How often a call with an unexpected reply is repeated.
const UNEXPECTED_MAX: u32 = 10;
/// How long an aborted handler may take to stop; after that its lease has to expire.
const STOP: Duration = Duration::from_secs(1);
/// The deadline of the last call.
const FAREWELL: Duration = Duration::from_secs(5);

type Settlements = Vec<(Receipt, Outcome)>;

/// Serves a shard until the consumer ends.
pub(crate) async fn work<T: Send + Sync + 'static>(worker: Arc<ShardWorker<T>>) {
    let mut inbox = worker.inbox.lock().await;
    let mut phases = worker.run.phases.clone();
    let mut sequence = 0;
    let mut settlements = Settlements::new();
    let mut look_at = worker.run.core.clock.now();
    // After a restart by a panic the last sequence is unknown.
    worker.take_new_id();
    worker.running.forget_ended();
    loop {
        let phase = *phases.borrow_and_update();
        let is_idle = settlements.is_empty() && worker.running.is_empty() && inbox.is_empty();
        if phase == Phase::Over || (phase == Phase::Draining && is_idle) {
            break;
        }
        tokio::select! {
            biased;
            ended = inbox.recv() => settlements.extend(ended.flatten()),
            _ = phases.changed() => continue,
            // Keeps the notification if another worker holds all slots at this moment: the next iteration polls at once.
            () = claimable(&worker, look_at), if phase == Phase::Working => {
                if guard("queue_notification_is_retained") {
                    look_at = worker.run.core.clock.now();
                }
            }
        }
        gather(&mut inbox, &mut settlements);
        let slots = if phase == Phase::Working { worker.take_slots(ITEMS_MAX - settlements.len()) } else { None };
        if settlements.is_empty() && slots.is_none() {
            continue;
        }
        match turn(&worker, &mut sequence, &mut settlements, slots, look_at).await {
            Some(next) => look_at = next,
            None => break,
        }
    }
    give_back(&worker, &mut inbox, settlements, sequence).await;
    let _ = worker.done.set(());
}

/// Waits for a free slot, and then for a marker or the time `look_at`.
async fn claimable<T>(worker: &ShardWorker<T>, look_at: Moment) {
    worker.has_slot().await;
    tokio::select! {
        () = worker.run.core.clock.sleep_until(look_at) => {}
        () = worker.listener.marker() => {}
    }
}

fn gather(inbox: &mut Inbox, settlements: &mut Settlements) {
    while settlements.len() < SETTLEMENTS_MAX
        && let Ok(ended) = inbox.try_recv()
    {
        settlements.extend(ended);
    }
}

/// Makes one call; returns the time of the next poll, which stays as planned if nothing is claimed, or `None` if the consumer ended meanwhile.
async fn turn<T: Send + Sync + 'static>(
    worker: &Arc<ShardWorker<T>>,
    sequence: &mut u64,
    settlements: &mut Settlements,
    mut slots: Option<OwnedSemaphorePermit>,
    planned: Moment,
) -> Option<Moment> {
    let run = &worker.run;
    *sequence += 1;
    let limit = slots.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    let mut suspects = if limit > 0 { run.suspects.turn() } else { None };
    let room = suspects.as_ref().map_or_else(Room::default, |turn| turn.room);
    let mut call = SettleAndClaim { room, ..call(worker, *sequence, settlements.clone(), limit) };
    let settled = loop {
        let answered = tokio::select! {
            biased;
            answered = until_answered(worker, &mut call, sequence) => answered,
            () = async { reached(&mut run.phases.clone(), Phase::Over).await } => return None,
            () = idle_drain(worker, settlements.is_empty()) => return None,
        };
        match answered {
            Ok(settled) => break Ok(settled),
            Err(NotAnswered::Failed(error)) => break Err(error),
            // Nothing is claimed here until the cause is removed: the slots are for the other shards. What has ended is still to be settled.
            Err(NotAnswered::Refused) => {
                drop((slots.take(), suspects.take()));
                worker.set_backlogged(false);
                run.room.notify_waiters();
                if settlements.is_empty() {
                    return Some(run.core.clock.now() + POLL_EVERY);
                }
                (call.limit, call.room) = (0, Room::default());
            }
        }
    };
    let answered = run.core.clock.now();
    let (claimed, sent) = match settled {
        Ok((Settled::Done(claimed), sent)) => (claimed, sent),
        Ok((Settled::Stale, _)) => {
            tracing::error!(shard = ?worker.shard, "another worker uses the id of this one; taking a new id");
            worker.take_new_id();
            *sequence = 0;
            return Some(answered);
        }
        Err(error) => {
            give_up(worker, settlements, &error);
            *sequence = 0;
            return Some(answered + POLL_EVERY);
        }
    };
    run.metrics.success(run.core.clock.unix_ms());
    record_verdicts(worker, settlements, &claimed.verdicts);
    settlements.clear();
    let next = claimed.next;
    begin(worker, claimed, sent, slots);
    drop(suspects);
    if call.limit == 0 {
        return Some(planned);
    }
    worker.set_backlogged(next.due.is_some_and(|due| due <= next.now));
    Some(look_at(answered, next))
}

fn call<T>(worker: &ShardWorker<T>, sequence: u64, settlements: Settlements, limit: usize) -> SettleAndClaim {
    SettleAndClaim {
        worker: worker.id(),
        sequence,
        settlements,
        limit,
        lease_ms: worker.run.core.settings.visibility_ms(),
        token: Token::random(),
        fence_floor: worker.fence_floor.load(SeqCst),
        room: Room::default(),
    }
}

/// Waits until the consumer drains and this worker has had nothing to run or to settle for the time of a last call: a claim without a reply
/// is given up, and its jobs, if it has any, are redelivered when their leases expire.
async fn idle_drain<T>(worker: &ShardWorker<T>, has_settled: bool) {
    reached(&mut worker.run.phases.clone(), Phase::Draining).await;
    if !has_settled || !worker.running.is_empty() {
        std::future::pending::<()>().await;
    }
    worker.run.core.clock.sleep(FAREWELL).await;
}

/// Why a call has no answer.
enum NotAnswered {
    /// It never will have one.
    Failed(QueueError),
    /// Redis refuses it, has carried out none of its attempts, and it would claim jobs.
    Refused,
}

/// Repeats the call until the store answers it, and returns when the answered one was sent: after a lost reply under the same sequence. A
/// permanent error ends it, and so does the shutdown of the keel, after which no call is answered.
async fn until_answered<T>(
    worker: &ShardWorker<T>,
    call: &mut SettleAndClaim,
    sequence: &mut u64,
) -> Result<(Settled, Moment), NotAnswered> {
    let run = &worker.run;
    let (mut sent, mut is_lost) = (run.core.clock.now(), false);
    for attempt in 0.. {
        match run.core.store.run(&worker.shard, &*call).await {
            Ok(settled) => {
                worker.refused.over("call");
                return Ok((settled, sent));
            }
            Err(error) if is_lasting(&error, attempt) || is_closed(worker) => return Err(NotAnswered::Failed(error)),
            Err(error) => {
                let is_refused = !error.is_retryable();
                if is_refused
                    && guard("queue_refusal_logged")
                    && let Some(times) = worker.refused.line_due("call", &"")
                {
                    tracing::error!(
                        queue = %run.core.name, shard = ?worker.shard, %error, times,
                        "Redis refuses the calls of this consumer; no job of this shard runs until the cause is removed (logged every ten minutes)"
                    );
                }
                run.metrics.failed("settle_and_claim", &error);
                is_lost |= !is_refused;
                if is_refused && !is_lost && call.limit > 0 {
                    return Err(NotAnswered::Refused);
                }
            }
        }
        if !guard("queue_lost_reply_asked_again") {
            *sequence += 1;
            (call.sequence, call.token) = (*sequence, Token::random());
        }
        pause(worker, attempt).await;
        sent = run.core.clock.now();
    }
    Ok((Settled::Stale, sent))
}

/// Whether the keel was shut down: no call is answered any more.
fn is_closed<T>(worker: &ShardWorker<T>) -> bool {
    worker.run.core.store.is_closed() && guard("queue_closed_ends_calls")
}

/// Whether the error is permanent. An operator may change why a server rejects a call; a call that this process rejects, or whose reply is
/// unexpected every time, never succeeds.
fn is_lasting(error: &QueueError, attempt: u32) -> bool {
    match error {
        QueueError::Link(LinkError::Unexpected(_)) => attempt >= UNEXPECTED_MAX,
        QueueError::Link(_) | QueueError::Database { .. } => false,
        _ => guard("queue_lasting_given_up"),
    }
}

/// Gives a call up: the leases of the jobs that it was to settle expire, and the worker takes a new id.
fn give_up<T>(worker: &ShardWorker<T>, settlements: &mut Settlements, error: &QueueError) {
    tracing::error!(
        queue = %worker.run.core.name, shard = ?worker.shard, %error, jobs = settlements.len(),
        "a call of the consumer failed permanently; the jobs that it was to settle are redelivered when their leases expire"
    );
    worker.run.metrics.failed("settle_and_claim", error);
    settlements.drain(..).for_each(|(receipt, _)| worker.running.remove(&receipt));
    worker.take_new_id();
}

/// Waits for the backoff, or until the state of the link changes.
async fn pause<T>(worker: &ShardWorker<T>, attempt: u32) {
    // The system clock, because the pause waits for a server and not for a job's due time.
    let pause = Clock::system();
    let pause = pause.sleep(REPEAT.delay(attempt));
    match worker.run.core.store.link().map(Link::state) {
        None => pause.await,
        Some(mut state) => {
            state.mark_unchanged();
            tokio::select! {
                () = pause => {}
                _ = state.changed() => {}
            }
        }
    }
}

fn record_verdicts<T>(worker: &ShardWorker<T>, settlements: &Settlements, verdicts: &[Verdict]) {
    let queue = &worker.run.core.name;
    for ((receipt, outcome), verdict) in settlements.iter().zip(verdicts) {
        worker.running.remove(receipt);
        worker.run.metrics.settled(*verdict);
        match verdict {
            Verdict::Settled => {}
            Verdict::Lost => {
                tracing::warn!(%queue, id = %receipt.id, "a delivery was settled too late; the job belongs to another worker");
            }
            Verdict::Died => {
                tracing::error!(%queue, id = %receipt.id, reason = %outcome.message(), "a job has become a dead letter");
            }
            Verdict::Discarded => {
                tracing::error!(%queue, id = %receipt.id, reason = %outcome.message(), "a job out of retries was discarded");
            }
        }
    }
}

/// Starts the claimed jobs and frees the unused slots. A job whose lease has passed by this process's own clock, because it was stopped
/// meanwhile, is released: another worker may have it.
fn begin<T: Send + Sync + 'static>(
    worker: &Arc<ShardWorker<T>>,
    claimed: Claimed,
    sent: Moment,
    slots: Option<OwnedSemaphorePermit>,
) {
    let Some(mut slots) = slots else { return };
    let lease_ms = worker.run.core.settings.visibility_ms();
    let now = worker.run.core.clock.now();
    for delivered in claimed.deliveries {
        if sent + Duration::from_millis(delivered.lease_left_ms) <= now {
            worker.ended(&delivered.receipt, Some(Outcome::Released));
            continue;
        }
        if delivered.lease_left_ms < lease_ms / 3 * 2 {
            worker.heartbeat_now.notify_one();
        }
        let level = delivered.job.as_ref().map_or(0, |job| job.suspicion());
        let place = (level > 0).then(|| worker.run.suspects.place(&delivered.receipt, level));
        if let Some(slot) = slots.split(1) {
            attempt::start(worker, delivered, slot, place);
        }
    }
    drop(slots);
    worker.run.room.notify_waiters();
}

/// The time of the next poll: the next due time, by this process's own timer, but at most about a second from now.
fn look_at(answered: Moment, next: Next) -> Moment {
    let jitter = POLL_EVERY.mul_f64(0.75 + rand::random::<f64>() / 2.0);
    let due =
        next.due.filter(|_| guard("queue_own_timer")).map(|due| Duration::from_millis(due.saturating_sub(next.now)));
    answered + due.map_or(jitter, |due| due.min(jitter))
}

/// Releases the unfinished jobs at once at the end of the consumer, so that other workers need not wait for their leases to expire.
async fn give_back<T>(worker: &ShardWorker<T>, inbox: &mut Inbox, mut settlements: Settlements, sequence: u64) {
    let clock = &worker.run.core.clock;
    let mut stopped = Settlements::new();
    for (receipt, task) in worker.running.take_unfinished() {
        let has_ended = match task {
            None => true,
            Some(task) => {
                task.abort();
                clock.timeout(STOP, task).await.is_ok()
            }
        };
        if has_ended {
            stopped.push((receipt, Outcome::Released));
        }
    }
    // A batch ends once all of its attempts have ended.
    let has_ended = match &worker.run.handling {
        Handling::Batch(gatherer) if !stopped.is_empty() => clock.timeout(STOP, gatherer.idle()).await.is_ok(),
        _ => true,
    };
    // A handler that does not stop keeps its lease, so that no other worker runs its job at the same time.
    if has_ended && guard("queue_give_back") {
        settlements.append(&mut stopped);
    }
    while let Ok(ended) = inbox.try_recv() {
        settlements.extend(ended);
    }
    let farewell = async {
        for (turn, part) in (1..).zip(settlements.chunks(ITEMS_MAX)) {
            let mut sequence = sequence + turn;
            let mut last = call(worker, sequence, part.to_vec(), 0);
            if let Ok((Settled::Done(claimed), _)) = until_answered(worker, &mut last, &mut sequence).await {
                record_verdicts(worker, &part.to_vec(), &claimed.verdicts);
            }
        }
    };
    if clock.timeout(FAREWELL, farewell).await.is_err() {
        tracing::warn!(shard = ?worker.shard, "the store did not answer; unsettled jobs are redelivered when their leases expire");
    }
}

#[cfg(test)]
mod tests {
    use super::{UNEXPECTED_MAX, is_lasting};
    use evenkeel_link::LinkError;
    use evenkeel_protocol::queue::error::QueueError;

    // shows: hazard A1
    #[test]
    fn only_a_permanent_error_ends_a_call() {
        let refused = |code: &str| LinkError::Refused { code: code.to_owned(), message: String::new() };
        for passing in [LinkError::EpochOver, LinkError::Busy { limit: 1 }, refused("OOM"), refused("NOPERM")] {
            assert!(!is_lasting(&QueueError::Link(passing), u32::MAX));
        }
        let unexpected = QueueError::Link(LinkError::Unexpected(String::new()));
        assert!(!is_lasting(&unexpected, UNEXPECTED_MAX - 1) && is_lasting(&unexpected, UNEXPECTED_MAX));
        assert!(is_lasting(&QueueError::Invalid(String::new()), 0));
        assert!(is_lasting(&QueueError::TooMany { items: 501, limit: 500 }, 0));
    }
}
