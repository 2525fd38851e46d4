//! The model: the steps of docs/spec/stream.md as a state machine behind a mutex. It is the embedded backend, an executable
//! specification, and the oracle with which the scripts are compared.

mod group;
mod index;
mod log;

use super::check;
use super::error::StreamError;
use super::id::EntryId;
use super::name::{GroupName, Partition};
use super::steps::{
    Append, Appended, DeadLetter, Entry, GroupSpec, GroupStats, Heartbeat, Joined, Opened, Position, ReadEntries,
    Reader, Redriven, Reply, Settlement, StreamSteps, TakenOver, Trim, Trimmed, Verdict,
};
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use group::{Group, Name};
use log::{Log, State};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use tokio::sync::Notify;

/// The embedded backend: streams within this process only. Cheap to clone; clones share the streams.
///
/// Guarantee: the same replies as Redis. Not guaranteed: anything after the process ends.
#[derive(Clone)]
pub struct MemoryStream(Arc<Inner>);

struct Inner {
    partitions: Mutex<BTreeMap<Partition, State>>,
    clock: Clock,
    /// Signals that some log has grown.
    grown: Notify,
}

type Result<T> = std::result::Result<T, StreamError>;

impl MemoryStream {
    /// An empty backend. Its server time is the clock's wall clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner { partitions: Mutex::default(), clock, grown: Notify::new() }))
    }

    /// A copy of the present state on another clock, for tests that explore everything that may follow.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn fork(&self, clock: Clock) -> Self {
        let partitions = Mutex::new(self.0.partitions.lock().clone());
        Self(Arc::new(Inner { partitions, clock, grown: Notify::new() }))
    }

    /// A text that is equal for equal states.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn picture(&self) -> String {
        format!("{:?}", self.0.partitions.lock())
    }

    /// Runs one step on one partition. A step calls no foreign code, so the mutex is held for the step only.
    fn step<T>(&self, partition: &Partition, step: impl FnOnce(&mut State, u64) -> T) -> T {
        let now = self.0.clock.unix_ms();
        step(self.0.partitions.lock().entry(partition.clone()).or_default(), now)
    }

    /// Runs one step on a group that exists.
    fn on_group<T>(
        &self,
        partition: &Partition,
        name: &GroupName,
        step: impl FnOnce(&mut Group, &Log, u64) -> Reply<T>,
    ) -> Reply<T> {
        self.step(partition, |state, now| match (&state.log, state.groups.get_mut(name)) {
            (Some(log), Some(group)) => step(group, log, now),
            _ => Reply::Missing,
        })
    }

    /// Runs one step of a reader that is current.
    fn by_reader<T>(
        &self,
        partition: &Partition,
        name: &GroupName,
        reader: Reader,
        step: impl FnOnce(&mut Group, &Log, u64, &Name) -> T,
    ) -> Reply<T> {
        self.on_group(partition, name, |group, log, now| group.check(reader, |group, me| step(group, log, now, &me)))
    }
}

#[async_trait]
impl StreamSteps for MemoryStream {
    async fn open(&self, partition: &Partition, groups: &[GroupSpec], last: EntryId) -> Result<Vec<Opened>> {
        check::items(groups.len())?;
        Ok(self.step(partition, |state, now| state.open(now, groups, last)))
    }

    async fn append(&self, partition: &Partition, call: &Append) -> Result<Option<Vec<Appended>>> {
        check::append(call)?;
        let appended = self.step(partition, |state, now| state.append(now, call));
        self.0.grown.notify_waiters();
        Ok(appended)
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
        Ok(self
            .on_group(partition, group, |group, _, now| Reply::Done(group.join(now, consumer, lease_ms, fence_floor))))
    }

    async fn attend(
        &self,
        partition: &Partition,
        group: &GroupName,
        consumer: Token,
        lease_ms: u64,
    ) -> Result<Reply<Vec<Token>>> {
        check::span(lease_ms)?;
        Ok(self.on_group(partition, group, |group, _, now| Reply::Done(group.attend(now, consumer, lease_ms))))
    }

    async fn leave(&self, partition: &Partition, group: &GroupName, reader: Reader) -> Result<Reply<()>> {
        Ok(self.by_reader(partition, group, reader, |group, _, _, _| group.leave()))
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
        let step = |group: &mut Group, log: &Log, now, me: &Name| group.take_over(now, log, me, after, limit);
        Ok(self.by_reader(partition, group, reader, step))
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
        let step = |group: &mut Group, log: &Log, now, me: &Name| group.read(now, log, me, limit, lease_ms);
        Ok(match self.by_reader(partition, group, reader, step) {
            Reply::Done(reply) => reply,
            Reply::Missing => Reply::Missing,
            Reply::Stale => Reply::Stale,
            Reply::OtherMode => Reply::OtherMode,
            Reply::TakeOverFirst => Reply::TakeOverFirst,
        })
    }

    async fn settle(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        settlements: &[Settlement],
    ) -> Result<Reply<Vec<Verdict>>> {
        check::settle(settlements)?;
        let step = |group: &mut Group, log: &Log, now, me: &Name| group.settle(now, log, me, settlements);
        Ok(self.by_reader(partition, group, reader, step))
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
        let step = |group: &mut Group, _: &Log, now, me: &Name| group.heartbeat(now, me, lease_ms, heartbeats);
        Ok(self.by_reader(partition, group, reader, step))
    }

    async fn redrive(
        &self,
        partition: &Partition,
        group: &GroupName,
        letters: &[EntryId],
    ) -> Result<Option<Vec<Redriven>>> {
        check::items(letters.len())?;
        let redriven = self.step(partition, |state, now| state.redrive(now, group, letters));
        self.0.grown.notify_waiters();
        Ok(redriven)
    }

    async fn discard(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Option<Reader>,
        letters: &[EntryId],
    ) -> Result<Reply<Vec<bool>>> {
        check::items(letters.len())?;
        let Some(reader) = reader else {
            return Ok(Reply::Done(self.step(partition, |state, _| match state.groups.get_mut(group) {
                Some(group) => group.discard(letters),
                None => vec![false; letters.len()],
            })));
        };
        Ok(self.by_reader(partition, group, reader, |group, _, _, _| group.discard(letters)))
    }

    async fn seek(&self, partition: &Partition, group: &GroupName, to: Position) -> Result<Reply<()>> {
        let moved = self.step(partition, |state, now| state.seek(now, group, to));
        Ok(if moved { Reply::Done(()) } else { Reply::Missing })
    }

    async fn pause(&self, partition: &Partition, group: &GroupName, until: Option<u64>) -> Result<Reply<()>> {
        Ok(self.on_group(partition, group, |group, _, _| {
            group.pause(until);
            Reply::Done(())
        }))
    }

    async fn trim(&self, partition: &Partition, trim: &Trim) -> Result<Trimmed> {
        check::page(trim.limit)?;
        check::items(trim.groups.len())?;
        check::span(trim.retain_ms)?;
        Ok(self.step(partition, |state, now| state.trim(now, trim)))
    }

    async fn sweep(&self, partition: &Partition, group: &GroupName, silent_ms: u64) -> Result<Reply<u64>> {
        check::span(silent_ms)?;
        Ok(self.on_group(partition, group, |group, _, now| Reply::Done(group.sweep(now, silent_ms))))
    }

    async fn stats(&self, partition: &Partition, group: &GroupName) -> Result<Reply<GroupStats>> {
        Ok(self.on_group(partition, group, |group, log, now| Reply::Done(group.stats(now, log))))
    }

    async fn entries(&self, partition: &Partition, after: EntryId, limit: usize) -> Result<Vec<Entry>> {
        check::page(limit)?;
        Ok(self.step(partition, |state, _| state.entries(after, limit)))
    }

    async fn dead(
        &self,
        partition: &Partition,
        group: &GroupName,
        after: EntryId,
        limit: usize,
    ) -> Result<Vec<DeadLetter>> {
        check::page(limit)?;
        Ok(self.step(partition, |state, _| {
            let dead = state
                .groups
                .get(group)
                .into_iter()
                .flat_map(|group| group.dead.range((Bound::Excluded(after), Bound::Unbounded)));
            dead.take(limit).map(|(_, letter)| letter.clone()).collect()
        }))
    }

    async fn grown(&self, partition: &Partition, after: EntryId) {
        loop {
            let mut grown = std::pin::pin!(self.0.grown.notified());
            grown.as_mut().enable();
            if self.step(partition, |state, _| state.log.as_ref().is_some_and(|log| log.tail() > after)) {
                return;
            }
            grown.await;
        }
    }
}
