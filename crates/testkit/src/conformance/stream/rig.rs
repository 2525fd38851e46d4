//! A backend, a partition with a group, a clock that a test advances, and the calls most tests make.

use crate::conformance::rig::ServerTime;
use crate::park::{self, SharedRedis};
use anyhow::{Result, bail};
use bytes::Bytes;
use evenkeel::Token;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::testing::TestClock;
use evenkeel_protocol::step::Step;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::steps::{
    Append, Appended, Delivered, Delivery, GroupSpec, GroupStats, Heartbeat, Join, Joined, Mode, NewEntry, Open,
    Opened, Outcome, Position, Read, ReadEntries, ReadStats, Reader, Reply, Running, Settle, Settlement, TakeOver,
    TakenOver, Trim, Trimmed, Verdict,
};
use evenkeel_protocol::stream::{StreamBackend, StreamError};

/// The lease of the suite's consumers.
pub const LEASE_MS: u64 = 30_000;

/// A backend under test.
pub struct Rig {
    /// What runs the steps.
    pub streams: StreamBackend,
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

impl Rig {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        let streams = StreamBackend::memory(clock.clock());
        let (partition, group) = (Partition::new("t", "orders", 0)?, GroupName::new("billing")?);
        Ok(Self { streams, time: ServerTime::Model(clock), partition, group, link: None, _redis: None })
    }

    /// The scripts, on the run's shared Redis.
    pub async fn redis() -> Result<Self> {
        let redis = park::redis().await?;
        let link = Link::connect(LinkOptions::from_url(&redis.url)?, Clock::system()).await?;
        let time = ServerTime::of_scripts(&link, &redis.prefix).await?;
        let (partition, group) = (Partition::new(&redis.prefix, "orders", 0)?, GroupName::new("billing")?);
        let streams = StreamBackend::redis(link.clone());
        Ok(Self { streams, time, partition, group, link: Some(link), _redis: Some(redis) })
    }

    /// Runs one step on the rig's partition.
    ///
    /// # Errors
    /// As [`StreamBackend::run`].
    pub async fn run<S: Step<Partition>>(&self, step: &S) -> Result<S::Reply, StreamError> {
        self.streams.run(&self.partition, step).await
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

impl Rig {
    /// Creates the group of the suite, from the beginning of the log.
    pub async fn open(&self, mode: Mode) -> Result<()> {
        self.open_group(&self.group, mode).await
    }

    /// Creates a group, from the beginning of the log.
    pub async fn open_group(&self, name: &GroupName, mode: Mode) -> Result<()> {
        let spec = GroupSpec { name: name.clone(), position: Position::After(EntryId::MIN), mode };
        let opened = self.run(&Open { groups: vec![spec], last: EntryId::MIN }).await?;
        anyhow::ensure!(opened == [Opened::Created], "{opened:?}");
        Ok(())
    }

    /// Appends an entry for each key.
    pub async fn append(&self, keys: &[&str]) -> Result<Vec<EntryId>> {
        let call = appending(keys.iter().map(|key| entry(key, "record")).collect());
        let replies = self.run(&call).await?;
        let id = |reply| match reply {
            Appended::Appended(id) => Ok(id),
            other => bail!("{other:?}"),
        };
        replies.unwrap_or_default().into_iter().map(id).collect()
    }

    /// The reply to a join.
    pub async fn ask(&self, number: u8) -> Result<Joined> {
        done(
            self.run(&Join {
                group: self.group.clone(),
                consumer: consumer(number),
                lease_ms: LEASE_MS,
                fence_floor: 0,
            })
            .await?,
        )
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
        done(self.run(&TakeOver { group: self.group.clone(), reader, after, limit: 100 }).await?)
    }

    /// Reads.
    pub async fn look(&self, reader: Reader, limit: usize) -> Result<ReadEntries> {
        done(self.run(&Read { group: self.group.clone(), reader, limit, lease_ms: LEASE_MS }).await?)
    }

    /// The entries of a read.
    pub async fn read(&self, reader: Reader, limit: usize) -> Result<Vec<Delivered>> {
        Ok(self.look(reader, limit).await?.entries)
    }

    /// Settles one delivery.
    pub async fn settle(&self, reader: Reader, delivery: Delivery, outcome: Outcome) -> Result<Verdict> {
        let settlements = vec![Settlement { delivery, outcome }];
        let verdicts = done(self.run(&Settle { group: self.group.clone(), reader, settlements }).await?)?;
        Ok(verdicts[0])
    }

    /// A heartbeat for one delivery.
    pub async fn heartbeat(&self, reader: Reader, delivery: Delivery, alone: bool) -> Result<bool> {
        let deliveries = vec![Running { delivery, alone }];
        Ok(done(self.run(&Heartbeat { group: self.group.clone(), reader, lease_ms: LEASE_MS, deliveries }).await?)?[0])
    }

    /// The state of the group.
    pub async fn stats(&self) -> Result<GroupStats> {
        done(self.run(&ReadStats { group: self.group.clone() }).await?)
    }

    /// Removes what may be removed.
    pub async fn trim(&self, groups: &[GroupName], retain_ms: u64) -> Result<Trimmed> {
        let trim = Trim { groups: groups.to_vec(), retain_ms, limit: 500 };
        Ok(self.run(&trim).await?)
    }
}

/// The ids of deliveries.
#[must_use]
pub fn ids(delivered: &[Delivered]) -> Vec<EntryId> {
    delivered.iter().map(|delivered| delivered.id).collect()
}
