//! What all parts of one running consumer share.

use super::entry::Entry;
use super::group::GroupSettings;
use super::handled::HandlerResult;
use super::share::Share;
use crate::handling::handler::Handling;
use crate::handling::limit::TimeLimit;
use crate::handling::phase::Phase;
use crate::process::draft::{Draft, Reported};
use crate::stream::metrics::ConsumerMetrics;
use crate::stream::stream::Core;
use evenkeel_link::Token;
use evenkeel_protocol::process::report::StreamConsumerReport;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::GroupName;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, RwLock, Semaphore, watch};

/// What all parts of one running consumer share.
pub(crate) struct Run<T> {
    pub(crate) core: Arc<Core<T>>,
    pub(crate) group: GroupName,
    pub(crate) settings: GroupSettings,
    /// This incarnation of the consumer.
    pub(crate) consumer: Token,
    pub(crate) handling: Handling<Entry<T>, HandlerResult>,
    pub(crate) metrics: ConsumerMetrics,
    pub(crate) slots: Slots,
    /// Attempts share it; a suspect that runs alone has it exclusively.
    pub(crate) gate: Arc<RwLock<()>>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) phases: watch::Receiver<Phase>,
    /// The most entries of a partition that wait in this process, in an ordered group.
    pub(crate) buffer: usize,
    pub(crate) drain: Duration,
    /// How long a handler may run.
    pub(crate) time_limit: TimeLimit,
    pub(crate) share: Share,
}

impl<T> Run<T> {
    pub(crate) fn phase(&self) -> Phase {
        *self.phases.borrow()
    }
}

impl<T: Send + Sync + 'static> Reported for Run<T> {
    fn add_to(&self, draft: &mut Draft) {
        let consumer = || {
            let mut consumer = StreamConsumerReport::default();
            (consumer.stream, consumer.group) = (self.core.base.name.to_string(), self.group.to_string());
            consumer.slots = self.slots.count as u64;
            consumer.used = self.slots.count.saturating_sub(self.slots.free.available_permits()) as u64;
            consumer
        };
        draft.add(|report| &mut report.stream_consumers, consumer);
    }
}

/// One slot per handler that may run.
pub(crate) struct Slots {
    count: usize,
    free: Arc<Semaphore>,
    freed: Arc<Notify>,
    /// The number of partitions that have more unread entries than they had slots for.
    backlogged: AtomicUsize,
}

/// A slot, until it is dropped.
pub(crate) struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    freed: Arc<Notify>,
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        Self { count, free: Arc::new(Semaphore::new(count)), freed: Arc::default(), backlogged: AtomicUsize::new(0) }
    }

    /// One slot, if one is free.
    pub(crate) fn take(&self) -> Option<Slot> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(Slot { permit: Some(permit), freed: Arc::clone(&self.freed) })
    }

    /// This partition's share of the free slots.
    pub(crate) fn take_share(&self, is_backlogged: bool, max: usize) -> Vec<Slot> {
        let others = self.backlogged.load(SeqCst).saturating_sub(usize::from(is_backlogged));
        let want = self.free.available_permits().div_ceil(others + 1).min(max);
        std::iter::repeat_with(|| self.take()).take(want).flatten().collect()
    }

    /// Waits until a slot is free.
    pub(crate) async fn available(&self) {
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            if self.free.available_permits() > 0 {
                return;
            }
            freed.await;
        }
    }

    /// Counts a partition as backlogged, or no longer.
    pub(crate) fn set_backlogged(&self, was: &mut bool, is: bool) {
        if std::mem::replace(was, is) != is {
            if is {
                self.backlogged.fetch_add(1, SeqCst);
            } else {
                self.backlogged.fetch_sub(1, SeqCst);
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.freed.notify_waiters();
    }
}

/// The entries that run in this process. One whose handler was dropped may block its thread for longer; it is not started twice.
#[derive(Default)]
pub(crate) struct InFlight {
    running: Mutex<HashSet<(u16, EntryId)>>,
    ended: Notify,
}

/// An entry that runs, until this is dropped.
pub(crate) struct Flying {
    in_flight: Arc<InFlight>,
    entry: (u16, EntryId),
}

impl InFlight {
    /// Waits until the entry does not run in this process, and marks it as running.
    pub(crate) async fn enter(self: &Arc<Self>, partition: u16, id: EntryId) -> Flying {
        let entry = (partition, id);
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            ended.as_mut().enable();
            if self.running.lock().insert(entry) {
                return Flying { in_flight: Arc::clone(self), entry };
            }
            ended.await;
        }
    }
}

impl Drop for Flying {
    fn drop(&mut self) {
        self.in_flight.running.lock().remove(&self.entry);
        self.in_flight.ended.notify_waiters();
    }
}
