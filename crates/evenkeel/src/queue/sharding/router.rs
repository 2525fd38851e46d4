//! [`Router`]: sends each item of a call to the shard that has its job, also while the topic grows.
//!
//! During a shard migration the router asks the old shard of a job first. If that shard does not have the job, the router delivers the
//! batch that the old shard has sent to the new one, and asks the new shard. If no shard has the job, the router reads the topology
//! again, and repeats the call if the topic has grown meanwhile: a process with an outdated topology returns no wrong result.

use super::portions::{Answers, Portions, ask_each};
use super::shards::Shards;
use crate::queue::store::QueueStore;
use evenkeel_link::LinkError;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::{Recurring, Tried, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::grow::{Close, carry};
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::{Put, PutAnswer, Puts, Shard};
use evenkeel_protocol::queue::topology::Topology;
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
    /// The shards that a flush has opened, and that are not closed again yet.
    unclosed: Mutex<BTreeSet<u16>>,
    failing: Recurring,
}

impl Router {
    /// Reads the topology of `topic` from the register.
    pub(crate) async fn open(store: &QueueStore, topic: &str, first: u16, clock: &Clock) -> Result<Self, QueueError> {
        let topology = store.topology(topic, first).await?;
        Ok(Self::of(store, topic, first, clock.clone(), &topology))
    }

    /// Assumes that `topic` has this number of shards until a call finds a job nowhere: saves a read of the register before the call.
    #[cfg(feature = "sql")]
    pub(crate) fn assume(store: &QueueStore, topic: &str, shards: u16) -> Self {
        Self::of(store, topic, shards, Clock::system(), &Topology::of(shards))
    }

    fn of(store: &QueueStore, topic: &str, first: u16, clock: Clock, topology: &Topology) -> Self {
        let (shards, _) = watch::channel(store.shards(topic, topology));
        Self {
            store: store.clone(),
            topic: topic.into(),
            first,
            looked_at: Mutex::new(clock.now()),
            clock,
            shards,
            unclosed: Mutex::default(),
            failing: Recurring::default(),
        }
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
        self.close_again().await;
        Ok(self.shards())
    }

    /// Stores the known topology in place of an earlier one, and notes that the shards are to be closed again, so that programs that know
    /// only the earlier one are redirected. Returns the stored topology.
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
            self.unclosed.lock().extend(0..known.count());
        }
        Ok(topology)
    }

    /// Closes the shards that a flush has opened. One that Redis rejects stops no other, nor the caller; the next look closes it.
    async fn close_again(&self) {
        let unclosed = self.unclosed.lock().clone();
        let known = self.shards();
        // With equal numbers each shard keeps its limits.
        let close = Close { shards: known.count(), before: known.count(), inherits: None };
        for number in unclosed {
            match self.store.run(known.at(number), &close).await {
                Ok(_) => _ = self.unclosed.lock().remove(&number),
                Err(error) if error.is_retryable() => return,
                Err(error) => {
                    if let Some(times) = self.failing.line_due("close", &number) {
                        tracing::warn!(
                            topic = %self.topic, shard = number, %error, times,
                            "a shard could not be closed after a flush: it accepts jobs of other shards from programs that do not know of the growth"
                        );
                    }
                }
            }
        }
    }

    /// Sends each item to the shard that has its job. `not_here` is true of a reply from a shard that does not have it. A call that a shard
    /// rejects stops no other: its error is returned once all items have been sent.
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
        let mut tried = Tried::unless(QueueError::is_retryable);
        let answers = self.route_each(items, id, ask, not_here, &mut tried).await?;
        tried.finish()?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// The same, with the errors of rejected calls in `tried`, and `None` for their items: what their shards have is not known.
    pub(crate) async fn route_each<I, A, F>(
        &self,
        items: &[I],
        id: impl Fn(&I) -> JobId,
        ask: impl Fn(Shard, Vec<I>) -> F,
        not_here: impl Fn(&A) -> bool,
        tried: &mut Tried<QueueError>,
    ) -> Result<Vec<Option<A>>, QueueError>
    where
        I: Clone,
        F: Future<Output = Result<Vec<A>, QueueError>>,
    {
        let mut answers = Answers::of(items);
        for _ in 0..ROUNDS_MAX {
            let shards = self.known().await?;
            let mut left = answers.unanswered(&not_here);
            if shards.before().is_some() {
                let asked = ask_each(&shards, items, left, |item| shards.first(id(item)), &ask).await;
                answers.note(asked, tried)?;
                left = answers.unanswered(&not_here);
                left.retain(|place| shards.first(id(&items[*place])) != shards.of(id(&items[*place])));
                let carried = self.carry(&shards, left, |place| id(&items[place])).await;
                left = answers.delivered(carried, tried)?;
            }
            let asked = ask_each(&shards, items, left, |item| shards.of(id(item)), &ask).await;
            answers.note(asked, tried)?;
            if answers.unanswered(&not_here).is_empty() || self.look().await?.topology() == shards.topology() {
                break;
            }
        }
        Ok(answers.found)
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

    /// Delivers the pending batches between the old and the new shard of the job at each of these places.
    async fn carry(&self, shards: &Shards, places: Vec<usize>, id: impl Fn(usize) -> JobId) -> Portions<()> {
        let mut ways: BTreeMap<(u16, u16), Vec<usize>> = BTreeMap::new();
        for place in places {
            ways.entry((shards.first(id(place)), shards.of(id(place)))).or_default().push(place);
        }
        let mut carried = Vec::with_capacity(ways.len());
        for ((from, to), places) in ways {
            carried.push((places, carry(&self.store, shards.at(from), shards.at(to)).await));
        }
        carried
    }
}

/// The error for a job that no shard accepts, although the topology names one.
pub(crate) fn no_shard(topic: &str) -> QueueError {
    QueueError::Link(LinkError::Unexpected(format!("no shard of {topic} accepts the job")))
}
