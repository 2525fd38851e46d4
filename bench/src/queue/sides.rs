//! Ours and one peer on the same Redis, asked in turn.

use super::ours::Ours;
use super::peer::{Answer, KINDS, Kind, Peer, Question};
use crate::{info, pin};
use anyhow::Result;
use testkit::servers::{Redis, RedisOptions};

/// One Redis, and its clients.
pub(crate) struct Sides {
    pub(crate) redis: Redis,
    pub(crate) ours: Ours,
    pub(crate) peer: Option<Peer>,
}

/// What both sides answered.
#[derive(Clone, Copy, Default)]
pub(crate) struct Both {
    pub(crate) ours: Answer,
    pub(crate) peer: Answer,
}

impl Sides {
    /// A fresh Redis with ours on it alone.
    pub(crate) async fn alone(topic: &str, shards: u16) -> Result<Self> {
        let redis = Redis::start(RedisOptions::new()).await?;
        pin::process(redis.process_id(), pin::SERVER_CORE)?;
        let ours = Ours::open(&redis.url(), topic, shards).await?;
        Ok(Self { redis, ours, peer: None })
    }

    /// A fresh Redis with ours and a peer on it; `None` where the peer is not installed.
    pub(crate) async fn with(kind: Kind, shards: u16) -> Result<Option<Self>> {
        let mut sides = Self::alone("bench", shards).await?;
        sides.peer = Peer::start(kind, &sides.redis.url())?;
        Ok(sides.peer.is_some().then_some(sides))
    }

    /// Measures both; the first alternates with `round`.
    pub(crate) async fn ask(&self, round: usize, ours: Question, peer: Question) -> Result<Both> {
        let mut both = Both::default();
        if round.is_multiple_of(2) {
            both.ours = self.ours.ask(ours).await?;
        }
        if let Some(other) = &self.peer {
            both.peer = other.ask(peer).await?;
        }
        if !round.is_multiple_of(2) {
            both.ours = self.ours.ask(ours).await?;
        }
        Ok(both)
    }

    /// Bytes of Redis's memory.
    pub(crate) async fn memory(&self) -> Result<f64> {
        info::field(&self.redis, "memory", "used_memory").await
    }

    /// Seconds that Redis has computed.
    pub(crate) async fn cpu(&self) -> Result<f64> {
        info::cpu(&self.redis).await
    }
}

/// The peers that are installed here, each with a Redis of its own shared with ours.
pub(crate) async fn with_each(shards: u16) -> Result<Vec<(Kind, Sides)>> {
    let mut all = Vec::new();
    for kind in KINDS {
        if let Some(sides) = Sides::with(kind, shards).await? {
            all.push((kind, sides));
        }
    }
    Ok(all)
}
