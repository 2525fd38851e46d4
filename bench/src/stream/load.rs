//! What a producer appends, and how fast.

use super::{BODY_BYTES, BULK};
use anyhow::{Context, Result};
use bytes::{BufMut, Bytes, BytesMut};
use std::future::Future;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;

/// Calls at once where many entries are to be appended.
const SENDERS: usize = 4;
/// How often a paced producer appends what is due.
const TICK: Duration = Duration::from_millis(1);

/// An entry to append. Its body begins with the time of the append.
#[derive(Clone, Debug)]
pub(super) struct New {
    pub(super) key: String,
    pub(super) body: Bytes,
}

impl New {
    fn at(number: usize, keys: u64, sent_us: u64) -> Self {
        let mut body = BytesMut::zeroed(BODY_BYTES);
        (&mut body[..]).put_u64(sent_us);
        Self { key: format!("key:{}", number as u64 % keys), body: body.freeze() }
    }
}

/// When the entry with this body was appended.
pub(super) fn sent_us(body: &[u8]) -> u64 {
    body.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The wall clock, which all processes share.
pub(super) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Appends so many entries, as fast as the calls return.
pub(super) async fn append_all<Done>(entries: usize, keys: u64, append: impl Fn(Vec<New>) -> Done) -> Result<()>
where
    Done: Future<Output = Result<()>> + Send + 'static,
{
    let mut calls = JoinSet::new();
    for first in (0..entries).step_by(BULK) {
        if calls.len() == SENDERS {
            calls.join_next().await.context("some are on their way")???;
        }
        let now = now_us();
        calls.spawn(append((first..entries.min(first + BULK)).map(|number| New::at(number, keys, now)).collect()));
    }
    finish(calls).await
}

/// Appends so many entries a second; returns their number. Their time is that at which each is due, whenever its call begins.
pub(super) async fn append_at<Done>(
    per_second: f64,
    span: Duration,
    keys: u64,
    append: impl Fn(Vec<New>) -> Done,
) -> Result<usize>
where
    Done: Future<Output = Result<()>> + Send + 'static,
{
    let (start, start_us) = (Instant::now(), now_us());
    let (mut calls, mut sent) = (JoinSet::new(), 0);
    let due_us = |number: usize| {
        let after = Duration::from_secs_f64(number as f64 / per_second);
        start_us + u64::try_from(after.as_micros()).unwrap_or(u64::MAX)
    };
    while start.elapsed() < span {
        tokio::time::sleep(TICK).await;
        let now = now_us();
        let mut due = Vec::new();
        while due_us(sent) <= now {
            due.push(New::at(sent, keys, due_us(sent)));
            sent += 1;
        }
        if !due.is_empty() {
            calls.spawn(append(due));
        }
        while let Some(done) = calls.try_join_next() {
            done??;
        }
    }
    finish(calls).await?;
    Ok(sent)
}

async fn finish(mut calls: JoinSet<Result<()>>) -> Result<()> {
    while let Some(done) = calls.join_next().await {
        done??;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{New, sent_us};

    #[test]
    fn body_has_the_time_of_the_append() {
        let entry = New::at(1_003, 1_000, 17);
        assert_eq!((entry.key.as_str(), sent_us(&entry.body)), ("key:3", 17));
    }
}
