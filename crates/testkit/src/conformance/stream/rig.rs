//! A backend, a partition with a group, a clock that a test advances, and the calls most tests make.

use crate::conformance::rig::ServerTime;
use crate::park::{self, SharedRedis};
use anyhow::{Result, bail};
use bytes::Bytes;
use evenkeel::Token;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::testing::TestClock;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::steps::{
    Append, Appended, Delivered, Delivery, GroupSpec, GroupStats, Heartbeat, Joined, Mode, NewEntry, Opened, Outcome,
    Position, ReadEntries, Reader, Reply, Settlement, StreamSteps, TakenOver, Trim, Trimmed, Verdict,
};
use evenkeel_protocol::stream::{MemoryStream, RedisStream};
use std::sync::atomic::AtomicU64;

/// The lease of the suite's consumers.
pub const LEASE_MS: u64 = 30_000;

/// A backend under test.
pub struct Rig<S> {
    /// The steps.
    pub streams: S,
    /// The server's clock.
    pub time: ServerTime,
    /// The partition.
    pub partition: Partition,
    /// The group of the suite.
    pub group: GroupName,
    /// The link, for tests that look into Redis.
    pub link: Option<Link>,
    pub(super) _redis: Option<SharedRedis>,
}

impl Rig<MemoryStream> {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        let streams = MemoryStream::new(clock.clock());
        let (partition, group) = (Partition::new("t", "orders", 0)?, GroupName::new("billing")?);
        Ok(Self { streams, time: ServerTime::Model(clock), partition, group, link: None, _redis: None })
    }
}

impl Rig<RedisStream> {
    /// The scripts, on the run's shared Redis.
    pub async fn redis() -> Result<Self> {
        let redis = park::redis().await?;
        let link = Link::connect(LinkOptions::from_url(&redis.url)?, Clock::system()).await?;
        let start = TestClock::default().clock().unix_ms();
        let key = format!("{}:test:now_ms", redis.prefix);
        let time = ServerTime::Redis { link: link.clone(), key, now: AtomicU64::new(start) };
        time.advance(0).await?;
        let (partition, group) = (Partition::new(&redis.prefix, "orders", 0)?, GroupName::new("billing")?);
        let streams = RedisStream::new(link.clone());
        Ok(Self { streams, time, partition, group, link: Some(link), _redis: Some(redis) })
    }
}

/// Consumer number `number`.
#[must_use]
pub fn consumer(number: u8) -> Token {
    Token::from([number; 16])
}

/// An entry of this key that no producer numbers.
#[must_use]
pub fn entry(key: &str, record: &str) -> NewEntry {
    NewEntry { key: Bytes::copy_from_slice(key.as_bytes()), record: record.to_owned().into(), sequenced: None }
}

/// A call without a limit.
#[must_use]
pub fn appending(entries: Vec<NewEntry>) -> Append {
    Append { entries, entries_max: None, producer_window_ms: 3_600_000 }
}

/// The token of a delivery.
#[must_use]
pub fn delivery(delivered: &Delivered) -> Delivery {
    Delivery { id: delivered.id, count: delivered.count }
}

/// A retry after `delay_ms`.
#[must_use]
pub(super) fn retry(delay_ms: u64) -> Outcome {
    Outcome::Retry { delay_ms, error: Bytes::from_static(b"no reply from the bank") }
}

/// A death.
#[must_use]
pub(super) fn dead(parks_key: bool) -> Outcome {
    Outcome::Dead { reason: Bytes::from_static(b"no such account"), parks_key }
}

/// The result of a call that must succeed.
pub fn done<T>(reply: Reply<T>) -> Result<T> {
    match reply {
        Reply::Done(done) => Ok(done),
        Reply::Missing => bail!("the group is missing"),
        Reply::Stale => bail!("the reader is stale"),
        Reply::OtherMode => bail!("the group has the other mode"),
        Reply::TakeOverFirst => bail!("the reader has not taken over"),
    }
}

impl<S: StreamSteps> Rig<S> {
    /// Creates the group of the suite, from the beginning of the log.
    pub async fn open(&self, mode: Mode) -> Result<()> {
        self.open_group(&self.group, mode).await
    }

    /// Creates a group, from the beginning of the log.
    pub async fn open_group(&self, name: &GroupName, mode: Mode) -> Result<()> {
        let spec = GroupSpec { name: name.clone(), position: Position::After(EntryId::MIN), mode };
        let opened = self.streams.open(&self.partition, &[spec], EntryId::MIN).await?;
        anyhow::ensure!(opened == [Opened::Created], "{opened:?}");
        Ok(())
    }

    /// Appends an entry for each key.
    pub async fn append(&self, keys: &[&str]) -> Result<Vec<EntryId>> {
        let call = appending(keys.iter().map(|key| entry(key, "record")).collect());
        let replies = self.streams.append(&self.partition, &call).await?;
        let id = |reply| match reply {
            Appended::Appended(id) => Ok(id),
            other => bail!("{other:?}"),
        };
        replies.unwrap_or_default().into_iter().map(id).collect()
    }

    /// The reply to a join.
    pub async fn ask(&self, number: u8) -> Result<Joined> {
        done(self.streams.join(&self.partition, &self.group, consumer(number), LEASE_MS, 0).await?)
    }

    /// Joins; the partition must be free.
    pub async fn join(&self, number: u8) -> Result<Reader> {
        match self.ask(number).await? {
            Joined::Granted { reader, .. } => Ok(reader),
            Joined::Taken { free_in_ms } => bail!("it is taken for {free_in_ms} ms"),
        }
    }

    /// Joins and takes over all pending entries.
    pub async fn own(&self, number: u8) -> Result<(Reader, Vec<Delivered>)> {
        let reader = self.join(number).await?;
        Ok((reader, self.take_over(reader, EntryId::MIN).await?.entries))
    }

    /// A page of pending entries.
    pub async fn take_over(&self, reader: Reader, after: EntryId) -> Result<TakenOver> {
        done(self.streams.take_over(&self.partition, &self.group, reader, after, 100).await?)
    }

    /// Reads.
    pub async fn look(&self, reader: Reader, limit: usize) -> Result<ReadEntries> {
        done(self.streams.read(&self.partition, &self.group, reader, limit, LEASE_MS).await?)
    }

    /// The entries of a read.
    pub async fn read(&self, reader: Reader, limit: usize) -> Result<Vec<Delivered>> {
        Ok(self.look(reader, limit).await?.entries)
    }

    /// Settles one delivery.
    pub async fn settle(&self, reader: Reader, delivery: Delivery, outcome: Outcome) -> Result<Verdict> {
        let settlements = [Settlement { delivery, outcome }];
        let verdicts = done(self.streams.settle(&self.partition, &self.group, reader, &settlements).await?)?;
        Ok(verdicts[0])
    }

    /// A heartbeat for one delivery.
    pub async fn heartbeat(&self, reader: Reader, delivery: Delivery, alone: bool) -> Result<bool> {
        let heartbeats = [Heartbeat { delivery, alone }];
        Ok(done(self.streams.heartbeat(&self.partition, &self.group, reader, LEASE_MS, &heartbeats).await?)?[0])
    }

    /// The state of the group.
    pub async fn stats(&self) -> Result<GroupStats> {
        done(self.streams.stats(&self.partition, &self.group).await?)
    }

    /// Removes what may be removed.
    pub async fn trim(&self, groups: &[GroupName], retain_ms: u64) -> Result<Trimmed> {
        let trim = Trim { groups: groups.to_vec(), retain_ms, limit: 500 };
        Ok(self.streams.trim(&self.partition, &trim).await?)
    }
}

/// The ids of deliveries.
#[must_use]
pub fn ids(delivered: &[Delivered]) -> Vec<EntryId> {
    delivered.iter().map(|delivered| delivered.id).collect()
}
