//! [`Group`]: how a group handles the entries of a stream.

use super::batch::{Batch, BatchHandled};
use super::consumer::Consumer;
use super::entry::Entry;
#[cfg(feature = "lock")]
use super::exclusive::PerKeyExclusive;
use super::handled::Handled;
use crate::handling::handler::boxed;
use crate::handling::work::{FILL, Work};
use crate::stream::stream::Stream;
use evenkeel_link::support::ms;
use evenkeel_protocol::retry_delay::RetryDelay;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::{GroupSpec, Mode, Open, Opened, Position};
use std::fmt::Display;
use std::time::Duration;

/// What happens to later entries of a key while an earlier one has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// They wait until it is done, or a dead letter. The order of the key is kept, except for dead letters.
    BlockKey,
    /// They go on; the failed one is handled again after its delay, and has then been overtaken.
    Skip,
    /// They wait, and if it becomes a dead letter, they become dead letters, too, until an operator has removed all dead letters of the key.
    DeadLetterSequence,
}

/// The order in which a group handles entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ordering {
    Unordered,
    PerKey(OnFailure),
    Total,
}

impl Ordering {
    pub(crate) fn mode(self) -> Mode {
        if self == Self::Unordered { Mode::Entry } else { Mode::Partition }
    }

    /// Whether later entries of the key wait while one is retried.
    pub(crate) fn blocks(self) -> bool {
        !matches!(self, Self::Unordered | Self::PerKey(OnFailure::Skip))
    }

    pub(crate) fn parks(self) -> bool {
        self == Self::PerKey(OnFailure::DeadLetterSequence)
    }
}

/// The settings of a group.
#[derive(Clone, Debug)]
pub(crate) struct GroupSettings {
    pub(crate) ordering: Ordering,
    pub(crate) position: Position,
    pub(crate) lease: Duration,
    /// `None`: without limit.
    pub(crate) retries: Option<u16>,
    pub(crate) retry_delay: RetryDelay,
    pub(crate) crashes_max: u8,
    /// The locks under which entries are handled, in an unordered group.
    #[cfg(feature = "lock")]
    pub(crate) exclusive: Option<PerKeyExclusive>,
}

/// A group and how it handles entries. Nothing happens until a consumer [runs](Consumer::run).
///
/// All programs that consume a group set the same order; one that differs in whether it keeps an order is rejected.
#[must_use = "nothing is consumed until `handle` and `run`"]
pub struct Group<T> {
    stream: Stream<T>,
    name: String,
    settings: GroupSettings,
}

impl<T: Send + Sync + 'static> Group<T> {
    pub(crate) fn new(stream: Stream<T>, name: &str) -> Self {
        let settings = GroupSettings {
            ordering: Ordering::Unordered,
            position: Position::After(EntryId::MIN),
            lease: Duration::from_secs(30),
            retries: Some(5),
            retry_delay: RetryDelay::default(),
            crashes_max: 3,
            #[cfg(feature = "lock")]
            exclusive: None,
        };
        Self { stream, name: name.to_owned(), settings }
    }

    /// Entries are handled in any order, each under a lease of its own; every consumer reads all partitions. The default.
    pub fn unordered(self) -> Self {
        self.ordering(Ordering::Unordered)
    }

    fn ordering(mut self, ordering: Ordering) -> Self {
        self.settings.ordering = ordering;
        #[cfg(feature = "lock")]
        {
            self.settings.exclusive = None;
        }
        self
    }

    /// Entries of one key are handled one after the other, in the order of the log; those of different keys run at the same time. One
    /// consumer owns a partition at a time.
    ///
    /// Not guaranteed: the order of the *effects* of a process that was stopped and did not notice that it lost its partition. Write
    /// [`Entry::fence`] in the handler's transaction, and reject lower ones.
    pub fn per_key(self, on_failure: OnFailure) -> Self {
        self.ordering(Ordering::PerKey(on_failure))
    }

    /// Each entry is handled while a lock is held that is named by its key: one entry of a key at a time, and none while another program
    /// holds the lock of that name. Entries are otherwise [unordered](Self::unordered): a lock gives exclusion, not order.
    ///
    /// An entry whose lock is taken is delivered again after a short delay, without using an attempt, so many entries of one key at once
    /// cost many deliveries. The handler receives the lock ([`Entry::lock`]) and is canceled when the lock is lost; the entry is then
    /// delivered again, without using an attempt. The lock is released when the handler has ended.
    ///
    /// Not guaranteed: exclusion of the *effects* of a process that was stopped and did not notice that it lost the lock. Let the database
    /// check the fence of the lock.
    ///
    /// ```
    /// # use evenkeel::Keel;
    /// use evenkeel::stream::{Entry, PerKeyExclusive};
    /// # use std::convert::Infallible;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), evenkeel::stream::StreamError> {
    /// # let keel = Keel::memory();
    /// let orders = keel.stream::<String>("orders").open().await?;
    /// let locks = PerKeyExclusive::new(keel.clone(), |key| format!("stock/{}", String::from_utf8_lossy(key)));
    /// let consumer = orders.group("reserve").per_key_exclusive(locks).handle(|order: Entry<String>| async move {
    ///     let fence = order.lock().and_then(|lock| lock.fence());
    ///     assert!(fence.is_some());
    ///     Ok::<_, Infallible>(())
    /// });
    /// # consumer.run(async {}).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "lock")]
    pub fn per_key_exclusive(self, locks: PerKeyExclusive) -> Self {
        let mut group = self.ordering(Ordering::Unordered);
        group.settings.exclusive = Some(locks);
        group
    }

    /// All entries are handled one after the other, in the order of the log, and each waits until the one before is done or a dead letter.
    /// The stream must have one partition. See [`per_key`](Self::per_key) for what is not guaranteed.
    pub fn total(self) -> Self {
        self.ordering(Ordering::Total)
    }

    setters! {
        /// A group that does not exist yet begins with the next entry that is appended. Default: with the first entry that the log has.
        pub fn from_end() => settings.position = Position::End;

        /// How long an entry, or in an ordered group a partition, stays leased to a consumer that has stopped sending heartbeats. Default 30 s.
        /// It does not limit how long a handler may run, because a live consumer extends its leases.
        pub fn lease(lease: Duration) => settings.lease = lease;

        /// How many attempts follow a failed first one, before the entry becomes a dead letter. Default 5.
        pub fn retries(retries: u16) => settings.retries = Some(retries);

        /// Errors never make an entry a dead letter; a permanent error ([`Reaction::Dead`](super::Reaction::Dead)) and crashes do.
        pub fn retry_forever() => settings.retries = None;

        /// The delay between attempts. Default: exponential backoff with full jitter, a random time below a bound of 2 s that doubles with every
        /// failure, up to an hour. A handler may return a delay of its own.
        pub fn retry_delay(delay: RetryDelay) => settings.retry_delay = delay;

        /// The number of crashes after which an entry becomes a dead letter. Default 3. A crash is the death of a process, or the loss of its
        /// lease, while it ran the entry alone. An entry runs alone after two such deaths in a row, so that neighbors of an entry that kills its
        /// process are not blamed.
        pub fn crashes_max(crashes: u8) => settings.crashes_max = crashes;
    }

    /// Begins a consumer. Each call of the handler receives one [`Entry`]; many calls run concurrently. The handler returns `Ok(())`, a
    /// [`Handled`], or an error, which by default is retried. A panic counts as an error.
    ///
    /// The handler must be idempotent: it may run twice for the same entry, because its process may die, or stop sending heartbeats for
    /// longer than its lease, after the work and before the settlement.
    pub fn handle<H, F, R, E>(self, handler: H) -> Consumer<T, E>
    where
        H: Fn(Entry<T>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Handled>,
        E: Display + Send + 'static,
    {
        Consumer::new(self.stream, self.name, self.settings, Work::One(boxed(handler)), 16)
    }

    /// Begins a consumer whose handler receives up to `size` entries at once, from all partitions, for work whose cost hardly depends on the
    /// number of entries. A batch starts when it is full, [`fill`](Consumer::fill) after its first entry, or when the consumer drains. In an
    /// ordered group it has at most one entry of each key.
    ///
    /// The handler returns `Ok(())` or one [`Handled`] for all entries, or [`BatchHandled::Each`]; an error or a panic counts for each entry.
    /// An entry that is suspected of killing its process is delivered in a batch of its own.
    pub fn handle_batch<H, F, R, E>(self, size: usize, handler: H) -> Consumer<T, E>
    where
        H: Fn(Batch<T>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<BatchHandled<E>>,
        E: Display + Send + 'static,
    {
        let handler = boxed(move |entries| handler(Batch { entries }));
        let work = Work::Batch { size, fill: FILL, handler };
        Consumer::new(self.stream, self.name, self.settings, work, size.max(16))
    }
}

impl GroupSettings {
    pub(crate) fn lease_ms(&self) -> u64 {
        ms(self.lease)
    }

    /// Rejects invalid settings, with one sentence.
    pub(crate) fn check(&self, partitions: u16) -> Result<(), &'static str> {
        if self.lease < Duration::from_secs(1) || self.lease > Duration::from_secs(12 * 3600) {
            return Err("`lease` must be between 1 s and 12 h; it limits how long a dead consumer holds entries");
        }
        if self.retry_delay.ms_max() > 365 * 24 * 3_600_000 {
            return Err("`retry_delay` must be at most a year");
        }
        if self.ordering == Ordering::Total && partitions != 1 {
            return Err("`total` requires a stream with one partition; entries of different partitions have no order");
        }
        #[cfg(feature = "lock")]
        if let Some(exclusive) = &self.exclusive {
            exclusive.check()?;
        }
        Ok(())
    }
}

/// Registers the group, and creates it in every partition that does not have it.
pub(crate) async fn open<T>(
    core: &crate::stream::stream::Core<T>,
    group: &GroupName,
    settings: &GroupSettings,
) -> Result<(), StreamError> {
    let base = &core.base;
    let mode = settings.ordering.mode();
    let groups = vec![GroupSpec { name: group.clone(), position: settings.position, mode }];
    let open = Open { groups, last: EntryId::MIN };
    for partition in &base.partitions {
        if base.store.run(partition, &open).await? == [Opened::Refused] {
            return base.refuse(format!(
                "the group {group:?} exists and is leased otherwise: programs disagree whether it is ordered, or another program has created \
                 a consumer group of this name on the log; use the same order everywhere, or another name"
            ));
        }
    }
    base.store.register().add_group(&base.name, group, mode).await?;
    #[cfg(feature = "sql")]
    crate::stream::sql::add_group(base, group, mode).await?;
    Ok(())
}
