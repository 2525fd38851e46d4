//! Jobs that are sent one by one at the same time travel together: while calls are on their way, what comes gathers for the next
//! one, as databases commit in groups. A sender that is alone goes at once; who gathers waits for one answer more than it would alone.

use super::RedisQueue;
use crate::queue::error::QueueError;
use crate::queue::steps::{Enqueued, ITEMS_MAX, NewJob, Shard};
use evenkeel_link::LinkError;
use evenkeel_link::support::guard;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Calls of one shard on their way at once: the server has the next one when it ends one.
const CALLS_MAX: usize = 2;
/// Bytes of bodies in one call; a larger one travels alone.
const BYTES_MAX: usize = 256 * 1024;

/// Senders that wait for their call to begin, for each shard: as many as a link lets commands wait by default.
const WAITING_MAX: usize = 10_000;

/// What is being sent to each shard.
#[derive(Clone, Default)]
pub(crate) struct Senders(Arc<Mutex<HashMap<Shard, Gathering>>>);

/// Calls of one shard that are on their way, and what came meanwhile.
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

/// Where a sender finds itself.
enum Place {
    /// It may call.
    First(Turn),
    /// Its job goes with the next call.
    Behind(oneshot::Receiver<Answer>),
}

/// The right to have a call on its way. When it ends, what has gathered goes next.
struct Turn {
    queue: RedisQueue,
    shard: Shard,
}

/// Sends one job, alone or with others.
///
/// Dropped before its call has begun, it sends nothing; later it is as if the answer was lost.
pub(crate) async fn enqueue(queue: &RedisQueue, shard: &Shard, job: &NewJob) -> Answer {
    match queue.senders.join(queue, shard, job)? {
        Place::First(_turn) => {
            let answers = queue.enqueue_in_one_call(shard, std::slice::from_ref(job)).await?;
            answers.first().copied().ok_or(QueueError::Link(LinkError::BROKEN))
        }
        // Unanswered only if the runtime that carried the call was shut down.
        Place::Behind(answer) => answer.await.unwrap_or(Err(QueueError::Link(LinkError::BROKEN))),
    }
}

impl Senders {
    fn join(&self, queue: &RedisQueue, shard: &Shard, job: &NewJob) -> Result<Place, QueueError> {
        let mut shards = self.shards();
        let gathering = shards.entry(shard.clone()).or_default();
        if gathering.calls < CALLS_MAX && gathering.waiting.is_empty() {
            gathering.calls += 1;
            return Ok(Place::First(Turn { queue: queue.clone(), shard: shard.clone() }));
        }
        if gathering.waiting.len() >= WAITING_MAX && guard("queue_senders_bound") {
            return Err(LinkError::Busy { limit: WAITING_MAX }.into());
        }
        let (answer, answered) = oneshot::channel();
        gathering.waiting.push_back(Waiting { job: job.clone(), answer });
        Ok(Place::Behind(answered))
    }

    /// What goes next on the turn of a call that has ended; nothing, and the turn is over.
    fn next(&self, shard: &Shard) -> Vec<Waiting> {
        let mut shards = self.shards();
        let Some(gathering) = shards.get_mut(shard) else { return Vec::new() };
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(next) = gathering.waiting.front()
            && batch.len() < ITEMS_MAX
            && (batch.is_empty() || bytes + next.job.spec.body.len() <= BYTES_MAX)
        {
            bytes += next.job.spec.body.len();
            // Whoever has gone away meanwhile has sent nothing.
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

    fn shards(&self) -> MutexGuard<'_, HashMap<Shard, Gathering>> {
        self.0.lock()
    }
}

impl Turn {
    async fn send(self, batch: Vec<Waiting>) {
        let (jobs, answers): (Vec<NewJob>, Vec<_>) = batch.into_iter().map(|next| (next.job, next.answer)).unzip();
        match self.queue.enqueue_in_one_call(&self.shard, &jobs).await {
            Ok(told) => answers.into_iter().zip(told).for_each(|(answer, told)| _ = answer.send(Ok(told))),
            Err(error) => answers.into_iter().for_each(|answer| _ = answer.send(Err(error.clone()))),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let batch = self.queue.senders.next(&self.shard);
        if batch.is_empty() {
            return;
        }
        let next = Self { queue: self.queue.clone(), shard: self.shard.clone() };
        // In a task of its own: no sender's end ends the call of the others. Without a runtime they are told that nobody answers.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(next.send(batch));
        }
    }
}
