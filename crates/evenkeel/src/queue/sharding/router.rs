//! [`Router`]: sends each item of a call to the shard that has its job, also while the topic grows.
//!
//! During a shard migration the router asks the old shard of a job first. If that shard does not have the job, the router delivers the
//! batch that the old shard has sent to the new one, and asks the new shard. If no shard has the job, the router reads the topology
//! again, and repeats the call if the topic has grown meanwhile: a process with an outdated topology returns no wrong result.

use super::shards::Shards;
use crate::queue::store::QueueStore;
use evenkeel_link::LinkError;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::{Tried, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::grow::{Close, carry};
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, Put, PutAnswer, Puts, Shard};
use evenkeel_protocol::queue::topology::Topology;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The limit of repetitions of one call; a topic does not grow more often than this during a call.
const ROUNDS_MAX: usize = 20;
/// How often a process reads the topology while the topic grows.
const LOOK: Duration = Duration::from_secs(1);

/// Routes calls to the shards of one topic. Shared by all handles of a queue.
pub(crate) struct Router {
    pub(super) store: QueueStore,
    topic: Arc<str>,
    /// The number of shards with which the topic was first opened.
    first: u16,
    clock: Clock,
    shards: watch::Sender<Shards>,
    looked_at: Mutex<Moment>,
}

impl Router {
    /// Reads the topology of `topic` from the register.
    pub(crate) async fn open(store: &QueueStore, topic: &str, first: u16, clock: &Clock) -> Result<Self, QueueError> {
        let topology = store.topology(topic, first).await?;
        let (shards, _) = watch::channel(store.shards(topic, &topology));
        let looked_at = Mutex::new(clock.now());
        Ok(Self { store: store.clone(), topic: topic.into(), first, clock: clock.clone(), shards, looked_at })
    }

    /// Assumes that `topic` has this number of shards until a call finds a job nowhere: saves a read of the register before the call.
    #[cfg(feature = "sql")]
    pub(crate) fn assume(store: &QueueStore, topic: &str, shards: u16) -> Self {
        let clock = Clock::system();
        let (assumed, _) = watch::channel(store.shards(topic, &Topology::of(shards)));
        let looked_at = Mutex::new(clock.now());
        Self { store: store.clone(), topic: topic.into(), first: shards, clock, shards: assumed, looked_at }
    }

    /// The shards that this process knows.
    pub(crate) fn shards(&self) -> Shards {
        self.shards.borrow().clone()
    }

    /// Notifies when this process has read another topology.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Shards> {
        self.shards.subscribe()
    }

    /// Reads the shards from the register. An entry that a flush has removed is stored again.
    pub(crate) async fn look(&self) -> Result<Shards, QueueError> {
        *self.looked_at.lock() = self.clock.now();
        let mut topology = self.store.topology(&self.topic, self.first).await?;
        let known = self.shards();
        if topology.is_before(known.topology()) && guard("queue_growth_restored") {
            topology = self.restore(&known).await?;
        }
        self.shards.send_if_modified(|known| {
            let is_new = *known.topology() != topology;
            if is_new {
                *known = self.store.shards(&self.topic, &topology);
            }
            is_new
        });
        Ok(self.shards())
    }

    /// Stores the known topology in place of an earlier one, and closes the shards again, so that programs that know only the earlier one
    /// are redirected. Returns the stored topology.
    async fn restore(&self, known: &Shards) -> Result<Topology, QueueError> {
        // The first reply may be older than what another task has read meanwhile.
        let held = self.store.topology(&self.topic, self.first).await?;
        if !held.is_before(known.topology()) {
            return Ok(held);
        }
        let topology = self.store.grow(&self.topic, &held, known.topology()).await?;
        if topology != *known.topology() {
            return Ok(topology);
        }
        tracing::warn!(
            topic = %self.topic, shards = known.count(),
            "the register had lost the growth of the topic (was Redis flushed?); it is stored again"
        );
        if guard("queue_shards_closed_again") {
            // With equal numbers each shard keeps its limits.
            let close = Close { shards: known.count(), before: known.count(), inherits: None };
            let mut tried = Tried::unless(QueueError::is_retryable);
            for shard in known.iter() {
                tried.note(self.store.run(shard, &close).await)?;
            }
            tried.finish()?;
        }
        Ok(topology)
    }

    /// Sends each item to the shard that has its job. `not_here` is true of a reply from a shard that does not have it.
    pub(crate) async fn route<I, A, F>(
        &self,
        items: &[I],
        id: impl Fn(&I) -> JobId,
        ask: impl Fn(Shard, Vec<I>) -> F,
        not_here: impl Fn(&A) -> bool,
    ) -> Result<Vec<A>, QueueError>
    where
        I: Clone,
        F: Future<Output = Result<Vec<A>, QueueError>>,
    {
        let mut answers: Vec<Option<A>> = items.iter().map(|_| None).collect();
        let unanswered = |answers: &[Option<A>]| -> Vec<usize> {
            (0..answers.len()).filter(|place| answers[*place].as_ref().is_none_or(&not_here)).collect()
        };
        for _ in 0..ROUNDS_MAX {
            let shards = self.known().await?;
            let mut left = unanswered(&answers);
            if shards.before().is_some() {
                ask_each(&shards, items, left, |item| shards.first(id(item)), &ask, &mut answers).await?;
                left = unanswered(&answers);
                left.retain(|place| shards.first(id(&items[*place])) != shards.of(id(&items[*place])));
                self.carry(&shards, left.iter().map(|place| id(&items[*place]))).await?;
            }
            ask_each(&shards, items, left, |item| shards.of(id(item)), &ask, &mut answers).await?;
            if unanswered(&answers).is_empty() || self.look().await?.topology() == shards.topology() {
                break;
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Upserts jobs by version, on the shards that have them.
    ///
    /// # Errors
    /// [`QueueError::Link`]; repeat the call.
    pub(crate) async fn put(&self, puts: &[Put]) -> Result<Vec<PutAnswer>, QueueError> {
        let ask = |shard: Shard, puts: Vec<Put>| async move { self.store.run(&shard, &Puts(puts)).await };
        let elsewhere = |answer: &PutAnswer| *answer == PutAnswer::Elsewhere;
        let answers = self.route(puts, |put| put.id, ask, elsewhere).await?;
        if answers.iter().any(elsewhere) { Err(no_shard(&self.topic)) } else { Ok(answers) }
    }

    /// The known shards; while the topic grows, at most a second old.
    async fn known(&self) -> Result<Shards, QueueError> {
        let shards = self.shards();
        let looked_at = *self.looked_at.lock();
        if shards.before().is_some() && self.clock.now().since(looked_at) >= LOOK {
            return self.look().await;
        }
        Ok(shards)
    }

    /// Delivers the pending batches between the old and the new shard of each of these jobs.
    async fn carry(&self, shards: &Shards, ids: impl Iterator<Item = JobId>) -> Result<(), QueueError> {
        let ways: BTreeSet<(u16, u16)> = ids.map(|id| (shards.first(id), shards.of(id))).collect();
        for (from, to) in ways {
            carry(&self.store, shards.at(from), shards.at(to)).await?;
        }
        Ok(())
    }
}

/// The error for a job that no shard accepts, although the topology names one.
pub(crate) fn no_shard(topic: &str) -> QueueError {
    QueueError::Link(LinkError::Unexpected(format!("no shard of {topic} accepts the job")))
}

/// Sends the items at `places` to their shards: all shards concurrently, at most [`ITEMS_MAX`] items in a call. A call that is rejected
/// stops no other.
async fn ask_each<I, A, F>(
    shards: &Shards,
    items: &[I],
    places: Vec<usize>,
    shard_of: impl Fn(&I) -> u16,
    ask: &impl Fn(Shard, Vec<I>) -> F,
    answers: &mut [Option<A>],
) -> Result<(), QueueError>
where
    I: Clone,
    F: Future<Output = Result<Vec<A>, QueueError>>,
{
    let mut shares: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    places.into_iter().for_each(|place| shares.entry(shard_of(&items[place])).or_default().push(place));
    let calls = shares.into_iter().map(|(number, places)| async move {
        let (mut answered, mut tried) = (Vec::with_capacity(places.len()), Tried::unless(QueueError::is_retryable));
        for part in places.chunks(ITEMS_MAX) {
            let part = part.iter().map(|place| items[*place].clone()).collect();
            answered.extend(tried.note(ask(shards.at(number).clone(), part).await)?.into_iter().flatten());
        }
        tried.finish().map(|()| (places, answered))
    });
    for call in join_all(calls).await {
        let (places, answered) = call?;
        places.into_iter().zip(answered).for_each(|(place, answer)| answers[place] = Some(answer));
    }
    Ok(())
}
