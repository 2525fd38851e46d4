//! One of the two that are compared: a producer, and consumers in processes of their own, on one stream.

use super::consumer::{Report, Task};
use super::load::{New, append_all, append_at, now_us};
use super::process::Process;
use super::{GROUP, KEYS, Order, PARTITIONS, raw};
use crate::client::connect;
use crate::pin;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::codec::Raw;
use evenkeel::stream::Stream;
use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};
use testkit::servers::{Redis, RedisOptions};

/// How often consumers are asked.
const POLL: Duration = Duration::from_millis(10);
/// Without progress for so long a measurement fails.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Entries that are handled before a measurement, and how often at most until every consumer has handled some.
const FIRST: usize = 5_000;
const FIRST_TIMES: usize = 40;

/// A fresh Redis on its core.
pub(super) async fn server() -> Result<Redis> {
    let redis = Redis::start(RedisOptions::new()).await?;
    pin::process(redis.process_id(), pin::SERVER_CORE)?;
    Ok(redis)
}

#[derive(Clone)]
enum Producer {
    Ours(Stream<Bytes>),
    Raw(MultiplexedConnection, String),
}

impl Producer {
    async fn append(self, entries: Vec<New>) -> Result<()> {
        match self {
            Self::Ours(stream) => {
                let new = entries.iter().map(|entry| stream.entry(&entry.key, &entry.body));
                for appended in stream.append_many(new).await? {
                    appended?;
                }
                Ok(())
            }
            Self::Raw(connection, stream) => raw::append(connection, &stream, &entries).await,
        }
    }
}

pub(super) struct Side {
    task: Task,
    producer: Producer,
    consumers: Vec<Process>,
}

impl Side {
    /// Of ours with an order, or of plain commands.
    pub(super) async fn start(redis: &Redis, order: Option<Order>, lease: Duration, consumers: usize) -> Result<Self> {
        let (url, lease_ms) = (redis.url(), u64::try_from(lease.as_millis())?);
        let stream = order.map_or("raw", |_| "ours").to_owned();
        let producer = if order.is_some() {
            let builder = Keel::connect(&url).await?.stream::<Bytes>(&stream).codec(Raw);
            Producer::Ours(builder.partitions(PARTITIONS).open().await?)
        } else {
            let connection = connect(&url).await?;
            raw::create(connection.clone(), &stream).await?;
            Producer::Raw(connection, stream.clone())
        };
        let task = Task { url, stream, order, lease_ms, number: 0 };
        let mut side = Self { task, producer, consumers: Vec::new() };
        for _ in 0..consumers {
            side.add().await?;
        }
        side.warm_up().await?;
        Ok(side)
    }

    pub(super) async fn add(&mut self) -> Result<()> {
        self.task.number += 1;
        self.consumers.push(Process::start(&self.task).await?);
        Ok(())
    }

    /// Until every consumer has handled entries: then it has its share of the partitions.
    pub(super) async fn warm_up(&mut self) -> Result<()> {
        for _ in 0..FIRST_TIMES {
            self.rate(FIRST, KEYS).await?;
            let mut all = true;
            for consumer in &mut self.consumers {
                all &= consumer.report().await?.entries > 0;
            }
            if all {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        anyhow::bail!("a consumer has not handled any entry")
    }

    /// Entries a second, from the first append to the last handler.
    pub(super) async fn rate(&mut self, entries: usize, keys: u64) -> Result<f64> {
        self.reset().await?;
        let (producer, start) = (self.producer.clone(), now_us());
        append_all(entries, keys, |new| producer.clone().append(new)).await?;
        let report = self.until(entries).await?;
        Ok(entries as f64 * 1e6 / report.last_us.saturating_sub(start) as f64)
    }

    /// The latency of entries that are appended at this rate.
    pub(super) async fn late(&mut self, per_second: f64, span: Duration) -> Result<Report> {
        self.reset().await?;
        let producer = self.producer.clone();
        let sent = append_at(per_second, span, KEYS, |new| producer.clone().append(new)).await?;
        self.until(sent).await
    }

    /// Kills a consumer while entries are appended at this rate, `before` and `after` the death; returns the longest latency of an entry
    /// that another one has handled after it.
    pub(super) async fn takeover(&mut self, per_second: f64, before: Duration, after: Duration) -> Result<Duration> {
        let killed = self.consumers.pop().context("there are two")?;
        let producer = self.producer.clone();
        let append = append_at(per_second, before + after, KEYS, |new| producer.clone().append(new));
        let kill = async {
            tokio::time::sleep(before).await;
            self.reset().await?;
            killed.kill().await
        };
        let (appended, killed) = tokio::join!(append, kill);
        appended.and(killed.map(|()| 0))?;
        self.settled().await?;
        Ok(Duration::from_micros(self.state().await?.longest_us))
    }

    /// Until the group has settled every entry.
    async fn settled(&self) -> Result<()> {
        let Producer::Ours(stream) = &self.producer else { return Ok(()) };
        let start = Instant::now();
        loop {
            let groups = stream.admin().groups().await?;
            if groups.iter().any(|group| group.name == GROUP && group.pending() == 0 && group.lag().is_none()) {
                return Ok(());
            }
            ensure!(start.elapsed() < TIMEOUT, "not all entries were settled within {TIMEOUT:?}");
            tokio::time::sleep(POLL).await;
        }
    }

    async fn until(&mut self, entries: usize) -> Result<Report> {
        let (mut last, mut handled) = (Instant::now(), 0);
        loop {
            let state = self.state().await?;
            if state.entries >= entries {
                return Ok(state);
            }
            if state.entries > handled {
                (last, handled) = (Instant::now(), state.entries);
            }
            ensure!(
                last.elapsed() < TIMEOUT,
                "{handled} of {entries} entries were handled, and no other in {TIMEOUT:?}"
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// Of all consumers: the sum of their entries, and the worst of the rest.
    async fn state(&mut self) -> Result<Report> {
        let mut all = Report::default();
        for consumer in &mut self.consumers {
            let one = consumer.report().await?;
            all = Report {
                entries: all.entries + one.entries,
                last_us: all.last_us.max(one.last_us),
                p50_us: all.p50_us.max(one.p50_us),
                p99_us: all.p99_us.max(one.p99_us),
                longest_us: all.longest_us.max(one.longest_us),
            };
        }
        Ok(all)
    }

    async fn reset(&mut self) -> Result<()> {
        for consumer in &mut self.consumers {
            consumer.reset().await?;
        }
        Ok(())
    }
}
