//! Group commit for single jobs: while calls are in flight, jobs that other tasks send are collected for the next call. A single
//! sender is not delayed; a collected job waits for one reply more than alone.

use super::error::QueueError;
use super::steps::{Enqueue, Enqueued, ITEMS_MAX, NewJob, Shard};
use crate::step::Redis;
use evenkeel_link::LinkError;
use evenkeel_link::support::guard;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Concurrent calls per shard: when the server finishes one, the next is already there.
const CALLS_MAX: usize = 2;
/// The maximum size of the bodies in one call; a larger body is sent alone.
const BYTES_MAX: usize = 256 * 1024;

/// The maximum number of senders per shard that wait for their call: a link's default limit of commands in flight.
const WAITING_MAX: usize = 10_000;

/// The senders of each shard.
#[derive(Clone, Default)]
pub struct Senders(Arc<Mutex<HashMap<Shard, Gathering>>>);

/// The number of calls in flight for one shard, and the jobs collected meanwhile.
#[derive(Default)]
struct Gathering {
    calls: usize,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    job: NewJob,
    answer: oneshot::Sender<Answer>,
}

type Answer = Result<Enqueued, QueueError>;

/// The position of a sender.
enum Position {
    /// It may call at once.
    First(Turn),
    /// Its job is part of the next call.
    Behind(oneshot::Receiver<Answer>),
}

/// The right to have a call in flight. Dropping it sends the collected jobs.
struct Turn {
    queue: Redis<Shard>,
    shard: Shard,
}

/// Sends one job, alone or with others.
///
/// If the future is dropped before its call has begun, nothing is sent; afterwards the outcome is unknown.
pub(crate) async fn enqueue(queue: &Redis<Shard>, shard: &Shard, job: &NewJob) -> Answer {
    match queue.shared.join(queue, shard, job)? {
        Position::First(_turn) => {
            let answers = Enqueue::in_one_call(queue, shard, std::slice::from_ref(job)).await?;
            answers.first().copied().ok_or(QueueError::Link(LinkError::BROKEN))
        }
        // The sender is dropped only if the runtime that ran the call was shut down.
        Position::Behind(answer) => answer.await.unwrap_or(Err(QueueError::Link(LinkError::BROKEN))),
    }
}

impl Senders {
    fn join(&self, queue: &Redis<Shard>, shard: &Shard, job: &NewJob) -> Result<Position, QueueError> {
        let mut shards = self.0.lock();
        let gathering = shards.entry(shard.clone()).or_default();
        if gathering.calls < CALLS_MAX && gathering.waiting.is_empty() {
            gathering.calls += 1;
            return Ok(Position::First(Turn { queue: queue.clone(), shard: shard.clone() }));
        }
        if gathering.waiting.len() >= WAITING_MAX && guard("queue_senders_bound") {
            return Err(LinkError::Busy { limit: WAITING_MAX }.into());
        }
        let (answer, answered) = oneshot::channel();
        gathering.waiting.push_back(Waiting { job: job.clone(), answer });
        Ok(Position::Behind(answered))
    }

    /// The jobs of the next call; if there are none, the number of calls in flight is reduced.
    fn next(&self, shard: &Shard) -> Vec<Waiting> {
        let mut shards = self.0.lock();
        let Some(gathering) = shards.get_mut(shard) else { return Vec::new() };
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(next) = gathering.waiting.front()
            && batch.len() < ITEMS_MAX
            && (batch.is_empty() || bytes + next.job.spec.body.len() <= BYTES_MAX)
        {
            bytes += next.job.spec.body.len();
            // A sender that was dropped meanwhile sends nothing.
            batch.extend(
                gathering
                    .waiting
                    .pop_front()
                    .filter(|next| !next.answer.is_closed() || !guard("queue_gone_sends_nothing")),
            );
        }
        if batch.is_empty() {
            gathering.calls -= 1;
            if gathering.calls == 0 {
                shards.remove(shard);
            }
        }
        batch
    }
}

impl Turn {
    async fn send(self, batch: Vec<Waiting>) {
        let (jobs, answers): (Vec<NewJob>, Vec<_>) = batch.into_iter().map(|next| (next.job, next.answer)).unzip();
        match Enqueue::in_one_call(&self.queue, &self.shard, &jobs).await {
            Ok(results) => answers.into_iter().zip(results).for_each(|(answer, result)| _ = answer.send(Ok(result))),
            Err(error) => answers.into_iter().for_each(|answer| _ = answer.send(Err(error.clone()))),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let batch = self.queue.shared.next(&self.shard);
        if batch.is_empty() {
            return;
        }
        let next = Self { queue: self.queue.clone(), shard: self.shard.clone() };
        // A separate task, so that cancelling one sender does not cancel the call of the others. Without a runtime they get an error.
        if let Ok(runtime) = Handle::try_current() {
            evenkeel_link::support::spawn_on(&runtime, next.send(batch));
        }
    }
}
