//! The consumer as a process of its own (`bench consume`). It reads its task as JSON from the first line of standard input, and answers every
//! later line with what it has seen since the last `reset`.

use super::load::{now_us, sent_us};
use super::{CONCURRENCY, GROUP, Order, PARTITIONS, raw};
use crate::pin;
use anyhow::{Context, Result};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::codec::Raw;
use evenkeel::stream::{Entry, OnFailure};
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

pub(super) const RESET: &str = "reset";

/// What to consume.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) url: String,
    pub(super) stream: String,
    /// The order of a group of ours; without one, plain commands.
    pub(super) order: Option<Order>,
    pub(super) lease_ms: u64,
    /// Among the consumers of the group.
    pub(super) number: usize,
}

/// What a consumer has seen.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) entries: usize,
    /// When the last handler began.
    pub(super) last_us: u64,
    /// From the append to the handler.
    pub(super) p50_us: u64,
    pub(super) p99_us: u64,
    pub(super) longest_us: u64,
}

/// The entries since the last reset.
#[derive(Debug)]
pub(super) struct Seen {
    last_us: u64,
    late_us: Histogram<u64>,
}

impl Seen {
    fn new() -> Result<Self> {
        Ok(Self { last_us: 0, late_us: Histogram::new(3)? })
    }

    /// The handler of an entry: does nothing else.
    pub(super) fn handle(&mut self, body: &[u8]) {
        self.last_us = now_us();
        // Fails only for a time that no histogram can hold.
        let _ = self.late_us.record(self.last_us.saturating_sub(sent_us(body)));
    }

    fn report(&self) -> Report {
        Report {
            entries: usize::try_from(self.late_us.len()).unwrap_or(usize::MAX),
            last_us: self.last_us,
            p50_us: self.late_us.value_at_quantile(0.5),
            p99_us: self.late_us.value_at_quantile(0.99),
            longest_us: self.late_us.max(),
        }
    }
}

/// The process of its own.
pub(crate) fn main() -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (sender, lines) = unbounded_channel();
    // It ends with the process, or with its parent.
    std::thread::spawn(move || std::io::stdin().lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
    runtime.block_on(run(lines))
}

async fn run(mut lines: UnboundedReceiver<String>) -> Result<()> {
    let task: Task = serde_json::from_str(&lines.recv().await.context("the first line is the task")?)?;
    let seen = Arc::new(Mutex::new(Seen::new()?));
    tokio::select! {
        ended = consume(&task, Arc::clone(&seen)) => ended,
        ended = answer(&mut lines, &seen) => ended,
    }
}

async fn answer(lines: &mut UnboundedReceiver<String>, seen: &Mutex<Seen>) -> Result<()> {
    while let Some(line) = lines.recv().await {
        let mut seen = seen.lock();
        println!("{}", serde_json::to_string(&seen.report())?);
        if line == RESET {
            *seen = Seen::new()?;
        }
    }
    Ok(())
}

async fn consume(task: &Task, seen: Arc<Mutex<Seen>>) -> Result<()> {
    let Some(order) = task.order else { return raw::consume(task, &seen).await };
    let stream = Keel::connect(&task.url).await?.stream::<Bytes>(&task.stream).codec(Raw).partitions(PARTITIONS);
    let group = stream.open().await?.group(GROUP).lease(Duration::from_millis(task.lease_ms));
    let group = match order {
        Order::Unordered => group.unordered(),
        Order::PerKey => group.per_key(OnFailure::BlockKey),
    };
    let consumer = group.handle(move |entry: Entry<Bytes>| {
        seen.lock().handle(&entry.value);
        std::future::ready(Ok::<_, Infallible>(()))
    });
    Ok(consumer.concurrency(CONCURRENCY).run(std::future::pending()).await?)
}
