//! The statistics of a topic.

use super::Topic;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::steps::State;
use evenkeel_protocol::queue::steps::{ReadStats, Stats, Totals};

/// The statistics of a topic and of each of its shards. The shards are read one after the other.
#[derive(Clone, Debug, Default)]
pub struct TopicStats {
    /// The sums over all shards. A worker counts once for each shard it serves; the pause is the longest one.
    pub total: Stats,
    /// The statistics of each shard.
    pub shards: Vec<Stats>,
    /// The number of live rows, including those of jobs beyond the horizon, which are not in the store. `None`: the topic has no rows, or
    /// this handle does not have their database.
    pub rows: Option<u64>,
}

/// The main counts of all shards; [`total`](Self::total) has the others.
impl TopicStats {
    /// Waiting jobs of all priorities.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.total.waiting()
    }

    /// Waiting jobs that are due.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.total.ready
    }

    /// Running jobs.
    #[must_use]
    pub fn running(&self) -> u64 {
        self.total.leased
    }

    /// Dead letters.
    #[must_use]
    pub fn dead(&self) -> u64 {
        self.total.dead
    }

    /// Jobs done since the topic was first used.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.total.totals.done
    }

    /// How long the oldest due job has been waiting, in ms; 0 if none is due.
    #[must_use]
    pub fn late_ms(&self) -> u64 {
        self.shards.iter().map(Stats::late_ms).max().unwrap_or(0)
    }

    /// Whether every shard is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.shards.iter().all(|shard| shard.paused_until.is_some())
    }
}

impl Topic {
    /// Reads the counts, the oldest due time and the totals.
    ///
    /// # Errors
    /// [`QueueError::Link`].
    pub async fn stats(&self) -> Result<TopicStats, QueueError> {
        let stats = self.stats_of_store().await?;
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            return Ok(TopicStats { rows: Some(rows.count().await?), ..stats });
        }
        Ok(stats)
    }

    /// The same without counting rows, for frequent calls.
    pub(super) async fn stats_of_store(&self) -> Result<TopicStats, QueueError> {
        let known = self.router.look().await?;
        let mut shards = Vec::with_capacity(usize::from(known.count()));
        for shard in known.iter() {
            shards.push(self.store.run(shard, &ReadStats).await?);
        }
        Ok(TopicStats {
            total: shards.iter().fold(Stats::default(), |sum, shard| add(&sum, shard)),
            shards,
            rows: None,
        })
    }
}

/// The number of jobs in a state.
pub(super) fn count(stats: &Stats, state: State) -> u64 {
    match state {
        State::Waiting(priority) => stats.waiting[priority as usize],
        State::Leased => stats.leased,
        State::Dead => stats.dead,
    }
}

fn add(sum: &Stats, shard: &Stats) -> Stats {
    let earlier = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
    let mut waiting = sum.waiting;
    waiting.iter_mut().zip(shard.waiting).for_each(|(sum, of_shard)| *sum += of_shard);
    Stats {
        now: sum.now.max(shard.now),
        waiting,
        ready: sum.ready + shard.ready,
        oldest_due: earlier(sum.oldest_due, shard.oldest_due),
        leased: sum.leased + shard.leased,
        lease_expired: sum.lease_expired + shard.lease_expired,
        dead: sum.dead + shard.dead,
        workers: sum.workers + shard.workers,
        markers: sum.markers + shard.markers,
        paused_until: sum.paused_until.max(shard.paused_until),
        bytes: sum.bytes + shard.bytes,
        totals: add_totals(sum.totals, shard.totals),
    }
}

fn add_totals(a: Totals, b: Totals) -> Totals {
    Totals {
        created: a.created + b.created,
        done: a.done + b.done,
        retried: a.retried + b.retried,
        lease_expired: a.lease_expired + b.lease_expired,
        crashed: a.crashed + b.crashed,
        died: a.died + b.died,
        expired: a.expired + b.expired,
        discarded: a.discarded + b.discarded,
        revoked: a.revoked + b.revoked,
        redriven: a.redriven + b.redriven,
        deleted: a.deleted + b.deleted,
        ghosts: a.ghosts + b.ghosts,
    }
}
