//! The steps as scripts on Redis; docs/spec/stream.md specifies them, `memory/` is their model.

mod call;
mod reply;
mod scripts;

pub use scripts::SCRIPTS;

use super::check;
use super::error::StreamError;
use super::id::EntryId;
use super::name::{GroupName, Partition};
use super::steps::{
    Append, Appended, DeadLetter, Entry, FOREVER_MS, GroupSpec, GroupStats, Heartbeat, ITEMS_MAX, Joined, Opened,
    Position, REPLY_BYTES_MAX, ReadEntries, Reader, Redriven, Reply, Settlement, StreamSteps, TakenOver, Trim, Trimmed,
    Verdict,
};
use crate::args::Args;
use crate::foreign::{Checked, at_key};
use async_trait::async_trait;
use evenkeel_link::{Link, Script, Token};
use redis::Value;

/// The steps on Redis. Cheap to clone.
#[derive(Clone)]
pub struct RedisStream {
    link: Link,
    checked: Checked<(Partition, GroupName)>,
}

type Result<T> = std::result::Result<T, StreamError>;

impl RedisStream {
    /// The steps over this link.
    #[must_use]
    pub fn new(link: Link) -> Self {
        Self { link, checked: Checked::default() }
    }

    async fn run(&self, script: &'static Script, partition: &Partition, args: Args) -> Result<Value> {
        let reply = self.link.run(script, &[partition.tag().as_bytes()], &args.slices()).await;
        Ok(reply.map_err(|error| at_key(error, &format!("one of the keys {}:*", partition.tag())))?)
    }

    /// Runs a step of a consumer. Before the first of an epoch: fails if another program has written to the keys of the group.
    async fn consume(
        &self,
        script: &'static Script,
        partition: &Partition,
        group: &GroupName,
        args: Args,
    ) -> Result<Value> {
        let check = async { self.run(&scripts::TYPES, partition, Args::of(group)).await.map(|_| ()) };
        self.checked.once(&self.link, &(partition.clone(), group.clone()), check).await?;
        self.run(script, partition, args).await
    }

    /// What a log of the partition has after an id, at most `limit`, with as many calls as the size of a reply requires. `size` is the id
    /// of an item, and the bytes of its key and record.
    async fn page<T>(
        &self,
        (partition, key): (&Partition, &str),
        mut after: EntryId,
        limit: usize,
        parse: impl Fn(Value) -> Result<Vec<T>>,
        size: impl Fn(&T) -> (EntryId, usize),
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        loop {
            let args = Args::default().bytes(key).id(after).size(limit - all.len());
            let reply = self.link.run(&scripts::PAGE, &[partition.tag().as_bytes()], &args.slices()).await;
            let some = parse(reply.map_err(|error| at_key(error, &format!("{}:{key}", partition.tag())))?)?;
            let bytes: usize = some.iter().map(|item| size(item).1).sum();
            after = some.last().map_or(after, |last| size(last).0);
            all.extend(some);
            if bytes < REPLY_BYTES_MAX || all.len() >= limit {
                return Ok(all);
            }
        }
    }
}

#[async_trait]
impl StreamSteps for RedisStream {
    async fn open(&self, partition: &Partition, groups: &[GroupSpec], last: EntryId) -> Result<Vec<Opened>> {
        check::items(groups.len())?;
        reply::open(self.run(&scripts::OPEN, partition, call::open(groups, last)).await?)
    }

    async fn append(&self, partition: &Partition, call: &Append) -> Result<Option<Vec<Appended>>> {
        check::append(call)?;
        reply::append(self.run(&scripts::APPEND, partition, call::append(call)).await?)
    }

    async fn join(
        &self,
        partition: &Partition,
        group: &GroupName,
        consumer: Token,
        lease_ms: u64,
        fence_floor: u64,
    ) -> Result<Reply<Joined>> {
        check::join(lease_ms, fence_floor)?;
        let args = Args::of(group).consumer(consumer).number(lease_ms).number(fence_floor);
        reply::join(self.run(&scripts::JOIN, partition, args).await?, consumer)
    }

    async fn attend(
        &self,
        partition: &Partition,
        group: &GroupName,
        consumer: Token,
        lease_ms: u64,
    ) -> Result<Reply<Vec<Token>>> {
        check::span(lease_ms)?;
        let args = Args::of(group).consumer(consumer).number(lease_ms).size(ITEMS_MAX);
        reply::attend(self.run(&scripts::ATTEND, partition, args).await?)
    }

    async fn leave(&self, partition: &Partition, group: &GroupName, reader: Reader) -> Result<Reply<()>> {
        reply::nothing(self.run(&scripts::LEAVE, partition, Args::of(group).reader(reader)).await?)
    }

    async fn take_over(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        after: EntryId,
        limit: usize,
    ) -> Result<Reply<TakenOver>> {
        check::page(limit)?;
        let args = Args::of(group).reader(reader).id(after).size(limit);
        reply::take_over(self.run(&scripts::TAKE_OVER, partition, args).await?)
    }

    async fn read(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        limit: usize,
        lease_ms: u64,
    ) -> Result<Reply<ReadEntries>> {
        check::page(limit)?;
        check::lease(lease_ms)?;
        let args = Args::of(group).reader(reader).size(limit).number(lease_ms);
        reply::read(self.consume(&scripts::READ, partition, group, args).await?)
    }

    async fn settle(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        settlements: &[Settlement],
    ) -> Result<Reply<Vec<Verdict>>> {
        check::settle(settlements)?;
        reply::settle(self.consume(&scripts::SETTLE, partition, group, call::settle(group, reader, settlements)).await?)
    }

    async fn heartbeat(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        lease_ms: u64,
        heartbeats: &[Heartbeat],
    ) -> Result<Reply<Vec<bool>>> {
        check::heartbeat(lease_ms, heartbeats)?;
        reply::flags(
            self.run(&scripts::HEARTBEAT, partition, call::heartbeat(group, reader, lease_ms, heartbeats)).await?,
        )
    }

    async fn redrive(
        &self,
        partition: &Partition,
        group: &GroupName,
        letters: &[EntryId],
    ) -> Result<Option<Vec<Redriven>>> {
        check::items(letters.len())?;
        let mut replies = Vec::with_capacity(letters.len());
        loop {
            let args = Args::of(group).ids(&letters[replies.len()..]);
            let Some(some) = reply::redrive(self.run(&scripts::REDRIVE, partition, args).await?)? else {
                return Ok(None);
            };
            let is_over = some.is_empty();
            replies.extend(some);
            if is_over || replies.len() >= letters.len() {
                return Ok(Some(replies));
            }
        }
    }

    async fn discard(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Option<Reader>,
        letters: &[EntryId],
    ) -> Result<Reply<Vec<bool>>> {
        check::items(letters.len())?;
        let mut flags = Vec::with_capacity(letters.len());
        loop {
            let args = Args::of(group);
            let args = match reader {
                Some(reader) => args.reader(reader),
                None => args.bytes("").bytes("").bytes(""),
            };
            let args = args.ids(&letters[flags.len()..]);
            let some = match reply::flags(self.run(&scripts::DISCARD, partition, args).await?)? {
                Reply::Done(some) => some,
                refused => return Ok(refused),
            };
            let is_over = some.is_empty();
            flags.extend(some);
            if is_over || flags.len() >= letters.len() {
                return Ok(Reply::Done(flags));
            }
        }
    }

    async fn seek(&self, partition: &Partition, group: &GroupName, to: Position) -> Result<Reply<()>> {
        reply::nothing(self.run(&scripts::SEEK, partition, Args::of(group).position(to)).await?)
    }

    async fn pause(&self, partition: &Partition, group: &GroupName, until: Option<u64>) -> Result<Reply<()>> {
        let until = until.unwrap_or(FOREVER_MS).min(FOREVER_MS);
        reply::nothing(self.run(&scripts::PAUSE, partition, Args::of(group).number(until)).await?)
    }

    async fn trim(&self, partition: &Partition, trim: &Trim) -> Result<Trimmed> {
        check::page(trim.limit)?;
        check::items(trim.groups.len())?;
        check::span(trim.retain_ms)?;
        reply::trim(self.run(&scripts::TRIM, partition, call::trim(trim)).await?)
    }

    async fn sweep(&self, partition: &Partition, group: &GroupName, silent_ms: u64) -> Result<Reply<u64>> {
        check::span(silent_ms)?;
        reply::sweep(self.run(&scripts::SWEEP, partition, Args::of(group).number(silent_ms)).await?)
    }

    async fn stats(&self, partition: &Partition, group: &GroupName) -> Result<Reply<GroupStats>> {
        reply::stats(self.run(&scripts::STATS, partition, Args::of(group)).await?)
    }

    async fn entries(&self, partition: &Partition, after: EntryId, limit: usize) -> Result<Vec<Entry>> {
        check::page(limit)?;
        let size = |entry: &Entry| (entry.id, entry.key.len() + entry.record.len());
        self.page((partition, "log"), after, limit, reply::entries, size).await
    }

    async fn dead(
        &self,
        partition: &Partition,
        group: &GroupName,
        after: EntryId,
        limit: usize,
    ) -> Result<Vec<DeadLetter>> {
        check::page(limit)?;
        let size = |letter: &DeadLetter| (letter.id, letter.key.len() + letter.record.len());
        self.page((partition, &format!("g:{group}:dead")), after, limit, reply::dead, size).await
    }
}
