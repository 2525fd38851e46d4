//! [`Router`]: brings each item of a call to the shard that knows its job, also while the topic grows.
//!
//! While jobs are on their way, the shard that had a job before the topic grew is asked first. If it does not know the job, what it
//! has given to the new shard is carried there, and the new one is asked. Whoever finds a job nowhere looks whether the topic has
//! grown meanwhile, and if so asks again: a process that slept through it gives no wrong answer.

use super::shards::Shards;
use crate::queue::store::QueueStore;
use evenkeel_link::LinkError;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::together;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::grow::carry;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, Put, PutAnswer, Shard};
#[cfg(feature = "sql")]
use evenkeel_protocol::queue::topology::Topology;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A topic cannot grow more often than this while one call is on its way.
const ROUNDS_MAX: usize = 20;
/// While a topic grows, how often a process looks whether it has grown.
const LOOK: Duration = Duration::from_secs(1);

/// Knows the shards of one topic. Shared by all handles of a queue.
pub(crate) struct Router {
    store: QueueStore,
    topic: Arc<str>,
    /// Over how many shards the topic was when it was first opened.
    first: u16,
    clock: Clock,
    shards: watch::Sender<Shards>,
    looked_at: Mutex<Moment>,
}

impl Router {
    /// Looks at the register, and knows the shards of `topic` from then on.
    pub(crate) async fn open(store: &QueueStore, topic: &str, first: u16, clock: &Clock) -> Result<Self, QueueError> {
        let topology = store.topology(topic, first).await?;
        let (shards, _) = watch::channel(store.shards(topic, &topology));
        let looked_at = Mutex::new(clock.now());
        Ok(Self { store: store.clone(), topic: topic.into(), first, clock: clock.clone(), shards, looked_at })
    }

    /// Believes that `topic` has so many shards, until one of them says otherwise: no look at the register before the call.
    #[cfg(feature = "sql")]
    pub(crate) fn assume(store: &QueueStore, topic: &str, shards: u16) -> Self {
        let clock = Clock::system();
        let (believed, _) = watch::channel(store.shards(topic, &Topology::of(shards)));
        let looked_at = Mutex::new(clock.now());
        Self { store: store.clone(), topic: topic.into(), first: shards, clock, shards: believed, looked_at }
    }

    /// The shards, as well as this process knows.
    pub(crate) fn shards(&self) -> Shards {
        self.shards.borrow().clone()
    }

    /// Tells when this process has learned of other shards.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Shards> {
        self.shards.subscribe()
    }

    /// The shards as the register has them now.
    pub(crate) async fn look(&self) -> Result<Shards, QueueError> {
        *self.looked_at.lock() = self.clock.now();
        let topology = self.store.topology(&self.topic, self.first).await?;
        self.shards.send_if_modified(|known| {
            let is_new = *known.topology() != topology;
            if is_new {
                *known = self.store.shards(&self.topic, &topology);
            }
            is_new
        });
        Ok(self.shards())
    }

    /// Asks for each item the shard that knows its job. `not_here` says of an answer that its shard does not.
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

    /// Upserts by version, wherever the jobs are.
    ///
    /// # Errors
    /// [`QueueError::Link`]; repeat the call.
    pub(crate) async fn put(&self, puts: &[Put]) -> Result<Vec<PutAnswer>, QueueError> {
        let ask = |shard: Shard, puts: Vec<Put>| async move { self.store.put(&shard, &puts).await };
        let elsewhere = |answer: &PutAnswer| *answer == PutAnswer::Elsewhere;
        let answers = self.route(puts, |put| put.id, ask, elsewhere).await?;
        if answers.iter().any(elsewhere) { Err(no_shard(&self.topic)) } else { Ok(answers) }
    }

    /// What this process knows; while the topic grows, not for longer than a second.
    async fn known(&self) -> Result<Shards, QueueError> {
        let shards = self.shards();
        let looked_at = *self.looked_at.lock();
        if shards.before().is_some() && self.clock.now().since(looked_at) >= LOOK {
            return self.look().await;
        }
        Ok(shards)
    }

    /// Carries over what is on its way between the two shards of each of these jobs.
    async fn carry(&self, shards: &Shards, ids: impl Iterator<Item = JobId>) -> Result<(), QueueError> {
        let ways: BTreeSet<(u16, u16)> = ids.map(|id| (shards.first(id), shards.of(id))).collect();
        for (from, to) in ways {
            carry(&*self.store, shards.at(from), shards.at(to)).await?;
        }
        Ok(())
    }
}

/// No shard keeps a job, although the register names one.
pub(crate) fn no_shard(topic: &str) -> QueueError {
    QueueError::Link(LinkError::Unexpected(format!("no shard of {topic} takes the job in")))
}

/// Asks the shard of each place, all shards at once, at most [`ITEMS_MAX`] items in a call.
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
        let mut answered = Vec::with_capacity(places.len());
        for part in places.chunks(ITEMS_MAX) {
            let part = part.iter().map(|place| items[*place].clone()).collect();
            answered.extend(ask(shards.at(number).clone(), part).await?);
        }
        Ok::<_, QueueError>((places, answered))
    });
    for call in together(calls).await {
        let (places, answered) = call?;
        places.into_iter().zip(answered).for_each(|(place, answer)| answers[place] = Some(answer));
    }
    Ok(())
}
