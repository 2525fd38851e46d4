//! What is large goes over a connection of its own, so that small calls do not wait behind it, with a deadline that grows with it.

use super::call::{self, Args};
use super::reply::{self, Answered};
use super::{RedisQueue, scripts};
use crate::queue::error::QueueError;
use crate::queue::job::JobId;
use crate::queue::steps::{Looked, Shard};
use evenkeel_link::{Blocking, Link, LinkError, Script};
use redis::{Cmd, Value};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Calls whose arguments are longer do not share the connection of the others.
pub(crate) const SHARED_BYTES_MAX: usize = 1 << 20;
/// Bodies that are sent in one call.
const PART_BYTES_MAX: usize = 4 << 20;

/// The connection for what is large, made when it is first needed. One call at a time: whoever reads a large body piece by piece lets
/// others in between.
#[derive(Clone, Default)]
pub(crate) struct Bulk(Arc<Mutex<Option<Box<dyn Connection>>>>);

type Opening<'a> = Pin<Box<dyn Future<Output = Result<Blocking, LinkError>> + Send + 'a>>;
type Call<'a> = Pin<Box<dyn Future<Output = Result<Value, LinkError>> + Send + 'a>>;

/// [`Blocking`] by another name: with the connection's own type in them, the futures of all that sends jobs would become deeper than
/// the compiler follows by default.
trait Connection: Send + Sync {
    fn command<'a>(&'a mut self, cmd: &'a Cmd, bytes: u64) -> Call<'a>;
    fn run<'a>(&'a mut self, script: &'static Script, shard: &'a Shard, args: &'a Args, bytes: u64) -> Call<'a>;
    fn is_open(&self) -> bool;
}

impl Connection for Blocking {
    fn command<'a>(&'a mut self, cmd: &'a Cmd, bytes: u64) -> Call<'a> {
        Box::pin(Self::command(self, cmd, patience(bytes)))
    }

    fn run<'a>(&'a mut self, script: &'static Script, shard: &'a Shard, args: &'a Args, bytes: u64) -> Call<'a> {
        Box::pin(
            async move { Self::run(self, script, &[shard.tag().as_bytes()], &args.slices(), patience(bytes)).await },
        )
    }

    fn is_open(&self) -> bool {
        Self::is_open(self)
    }
}

/// In addition to the link's own time-out, which is for small calls.
fn patience(bytes: u64) -> Duration {
    Duration::from_secs(bytes.div_ceil(1 << 20))
}

impl Bulk {
    /// One command with about so many bytes on the way to the server or back.
    pub(crate) async fn command(&self, link: &Link, cmd: &Cmd, bytes: u64) -> Result<Value, LinkError> {
        let mut place = self.0.lock().await;
        open(&mut place, link).await?.command(cmd, bytes).await
    }

    /// One script, likewise.
    pub(crate) async fn run(
        &self,
        link: &Link,
        script: &'static Script,
        shard: &Shard,
        args: &Args,
        bytes: u64,
    ) -> Result<Value, LinkError> {
        let mut place = self.0.lock().await;
        open(&mut place, link).await?.run(script, shard, args, bytes).await
    }
}

async fn open<'a>(
    place: &'a mut Option<Box<dyn Connection>>,
    link: &Link,
) -> Result<&'a mut dyn Connection, LinkError> {
    let connection = match place.take().filter(|connection| connection.is_open()) {
        Some(connection) => connection,
        None => {
            let opening: Opening<'_> = Box::pin(link.blocking());
            Box::new(opening.await?)
        }
    };
    Ok(&mut **place.insert(connection))
}

/// Items in parts of a few MiB; an item that is longer goes alone. Of no items one part: a call about nothing is a call.
pub(crate) fn parts<T>(items: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let (mut parts, mut begin, mut sum) = (Vec::new(), 0, 0);
    for (at, item) in items.iter().enumerate() {
        let size = bytes(item);
        if at > begin && sum + size > PART_BYTES_MAX {
            parts.push(&items[begin..at]);
            (begin, sum) = (at, 0);
        }
        sum += size;
    }
    parts.push(&items[begin..]);
    parts
}

/// Everything about some jobs, in as many calls as their size asks for.
pub(crate) async fn jobs(queue: &RedisQueue, shard: &Shard, ids: &[JobId]) -> Result<Vec<Looked>, QueueError> {
    let mut found: Vec<Looked> = vec![Ok(None); ids.len()];
    let mut left: Vec<usize> = (0..ids.len()).collect();
    while !left.is_empty() {
        let asked: Vec<JobId> = left.iter().map(|place| ids[*place]).collect();
        let answers = reply::jobs(queue.run(&scripts::JOB, shard, call::jobs(&asked, false)).await?)?;
        let mut later = Vec::new();
        for (place, answer) in left.into_iter().zip(answers) {
            match answer {
                Answered::Looked(looked) => found[place] = looked,
                Answered::Left(size) if size > SHARED_BYTES_MAX as u64 => {
                    let args = call::jobs(&[ids[place]], true);
                    let alone = queue.bulk.run(&queue.link, &scripts::JOB, shard, &args, size).await?;
                    if let Some(Answered::Looked(looked)) = reply::jobs(alone)?.pop() {
                        found[place] = looked;
                    }
                }
                Answered::Left(_) => later.push(place),
            }
        }
        left = later;
    }
    Ok(found)
}
