//! Sends jobs to their shards: all shards concurrently, with as few calls as the steps allow, and waits while the queue is full.

use super::builder::Sent;
use super::durable;
use crate::queue::queue::Queue;
use crate::queue::settings::{Durability, WhenFull};
use crate::queue::sharding::router::no_shard;
use bytes::Bytes;
use evenkeel_link::support::Backoff;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{JobId, Note};
use evenkeel_protocol::queue::steps::{Enqueue, Enqueued, NewJob, Shard};
use parking_lot::Mutex;
use std::time::Duration;

/// The backoff of a sender that waits for room.
const FULL: Backoff = Backoff { delay_min: Duration::from_millis(10), delay_max: Duration::from_millis(500) };

/// Sends jobs and returns one result per job, in order; `Full` for a job that the queue rejected until its waiting time was over.
pub(crate) async fn send<T: Send + Sync + 'static>(
    queue: &Queue<T>,
    mut jobs: Vec<NewJob>,
) -> Result<Vec<Sent>, QueueError> {
    let core = queue.core();
    add_trace(&mut jobs);
    core.keep_registered_now_and_then();
    let wait_max = match core.settings.when_full {
        WhenFull::Reject => Duration::ZERO,
        WhenFull::Wait(wait_max) => wait_max,
    };
    let until = core.clock.now() + wait_max;
    let mut sent: Vec<Sent> = jobs.iter().map(|job| Sent { id: job.id, answer: Enqueued::Full }).collect();
    let mut left: Vec<usize> = (0..jobs.len()).collect();
    let mut attempt = 0;
    let short = Mutex::new(None);
    loop {
        let some: Vec<NewJob> = left.iter().map(|place| jobs[*place].clone()).collect();
        let ask = |shard: Shard, jobs: Vec<NewJob>| async {
            let (answers, reached) = enqueue(queue, shard, jobs).await?;
            let mut short = short.lock();
            *short = short.or(reached);
            Ok(answers)
        };
        let answers = core.router.route(&some, |job| job.id, ask, |answer| *answer == Enqueued::Elsewhere).await?;
        if answers.contains(&Enqueued::Elsewhere) {
            return Err(no_shard(&core.name));
        }
        left.iter().zip(answers).for_each(|(place, answer)| sent[*place].answer = answer);
        left = (0..sent.len()).filter(|place| sent[*place].answer == Enqueued::Full).collect();
        if left.is_empty() || core.clock.now() >= until {
            break;
        }
        let pause = FULL.delay(attempt).min(until.since(core.clock.now()));
        core.clock.sleep(pause).await;
        attempt += 1;
    }
    sent.iter().for_each(|sent| core.metrics.sent(sent.answer));
    match short.into_inner() {
        Some((required, reached)) => {
            let accepted = sent.iter().filter(|sent| sent.answer != Enqueued::Full);
            let ids: Vec<JobId> = accepted.map(|sent| sent.id).collect();
            Err(QueueError::NotDurable { ids, required, reached })
        }
        None => Ok(sent),
    }
}

/// Gives jobs whose sender has set no trace context that of the current span.
fn add_trace(jobs: &mut [NewJob]) {
    let Some(trace) = crate::trace::context_of(&tracing::Span::current()) else { return };
    let trace = Bytes::from(trace);
    for job in jobs {
        if !job.spec.notes.iter().any(|note| matches!(note, Note::Trace(_))) {
            job.spec.notes.push(Note::Trace(trace.clone()));
        }
    }
}

/// The required and the confirmed number of copies, if too few were confirmed.
type Short = Option<(u32, u32)>;

async fn enqueue<T: Send + Sync + 'static>(
    queue: &Queue<T>,
    shard: Shard,
    jobs: Vec<NewJob>,
) -> Result<(Vec<Enqueued>, Short), QueueError> {
    let core = queue.core();
    #[cfg(feature = "sql")]
    if let (Durability::Sql, Some(rows)) = (queue.durability_requested(), &core.rows) {
        return Ok((rows.enqueue(&jobs).await?, None));
    }
    let call = Enqueue(jobs);
    match (queue.durability_requested(), core.store.link()) {
        (Durability::Memory, _) | (_, None) => Ok((core.store.run(&shard, &call).await?, None)),
        (durability, Some(link)) => durable::enqueue(&core.queues, link, &shard, &call, durability).await,
    }
}
