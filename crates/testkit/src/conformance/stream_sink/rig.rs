//! A backend of the stream sink, its clock, and messages.

use crate::conformance::rig::{ServerTime, shared_link};
use crate::park::SharedRedis;
use anyhow::Result;
use bytes::Bytes;
use evenkeel::sql::sink::stream::Limit;
use evenkeel::sql::sink::{Envelope, Order};
use evenkeel::testing::TestClock;
use evenkeel::testing::streams::{Appended, MemoryStreams, RedisStreams, Rule, StreamSteps};

/// How long a sequence is retained in these tests.
pub const DEDUPLICATION_MS: u64 = 60_000;

/// The rule of most tests.
pub const RULE: Rule = Rule { limit: Limit::Unlimited, deduplication_ms: DEDUPLICATION_MS };

/// One backend under test.
pub struct Rig<S> {
    /// The steps.
    pub streams: S,
    /// The server's clock.
    pub time: ServerTime,
    _redis: Option<SharedRedis>,
}

impl Rig<MemoryStreams> {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        let streams = MemoryStreams::new(clock.clock());
        Ok(Self { streams, time: ServerTime::Model(clock), _redis: None })
    }
}

impl Rig<RedisStreams> {
    /// The script, on the run's shared Redis.
    pub async fn redis() -> Result<Self> {
        let (link, redis) = shared_link().await?;
        let time = ServerTime::of_scripts(&link, link.prefix()).await?;
        Ok(Self { streams: RedisStreams::new(link), time, _redis: Some(redis) })
    }
}

impl<S: StreamSteps> Rig<S> {
    /// Appends one message.
    pub async fn append(&self, rule: Rule, message: Envelope) -> Result<Appended> {
        Ok(self.streams.append(rule, &[message]).await?.remove(0))
    }

    /// The ids of the messages that the stream of a topic holds.
    pub async fn ids(&self, topic: &str) -> Result<Vec<String>> {
        let entries = self.streams.entries(topic, None, 10_000).await?;
        Ok(entries.into_iter().map(|entry| entry.message.id).collect())
    }
}

/// A message of the key with this sequence; its id says both.
pub fn ordered(key: &str, sequence: u64) -> Envelope {
    let order = Some(Order { key: key.to_owned(), sequence });
    Envelope { order, ..unordered(&format!("{key}{sequence}")) }
}

/// A message that may overtake others.
pub fn unordered(id: &str) -> Envelope {
    Envelope {
        source: "shop".to_owned(),
        id: id.to_owned(),
        topic: "links".to_owned(),
        order: None,
        payload: Bytes::from_static(b"payload"),
        headers: Vec::new(),
    }
}
