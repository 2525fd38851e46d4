//! The units of work of a [`Keel`].

use super::Keel;
#[cfg(feature = "stream")]
use crate::sql::sink::appends::{StreamAppends, TOPIC_PREFIX};
use crate::sql::sink::{Sinks, StreamSink};
use crate::sql::{
    Approach, ConflictError, ConflictPolicy, Contended, Database, Inbox, Joined, LockingTransaction, Relay, SqlError,
    WakeUp, Work, retry_adaptively,
};
use sqlx::{Pool, SqlSafeStr, Transaction};
use std::error::Error;
use std::future::Future;
#[cfg(feature = "stream")]
use std::sync::Arc;
use std::time::Duration;

/// Units of work, with outbox, relay and inbox; see the module [`sql`](crate::sql).
impl Keel {
    /// Begins a unit of work: a transaction on a connection of `pool`, which gets a marker of this unit of work in the same round
    /// trip.
    ///
    /// [`migrate`](crate::sql::migrate) must have run.
    ///
    /// # Errors
    /// [`SqlError::Database`], [`SqlError::NotMigrated`]: no transaction was begun.
    pub async fn begin<DB: Database>(&self, pool: &Pool<DB>) -> Result<Work<DB>, SqlError> {
        self.begin_with(pool, DB::DIALECT.begin).await
    }

    /// Like [`begin`](Self::begin), with your own statement to begin the transaction, such as `BEGIN ISOLATION LEVEL SERIALIZABLE`.
    ///
    /// # Errors
    /// As [`begin`](Self::begin); [`SqlError::Database`] also for a statement after which no transaction is open.
    pub async fn begin_with<DB: Database>(
        &self,
        pool: &Pool<DB>,
        statement: impl SqlSafeStr,
    ) -> Result<Work<DB>, SqlError> {
        Work::begin(&self.0.sql, pool, statement).await
    }

    /// Joins a transaction of yours: inserts the row of the unit of work into it. Join as early as possible; a unit of work that is
    /// joined inside a savepoint is rolled back with it.
    ///
    /// # Errors
    /// As [`begin`](Self::begin). On PostgreSQL your transaction is then aborted, as after any error.
    pub async fn join<DB: Database>(&self, transaction: &mut Transaction<'_, DB>) -> Result<Joined<DB>, SqlError> {
        Joined::<DB>::join(&self.0.sql, transaction).await
    }

    /// Sets when relays in other processes are notified of effects that the units of work of this keel leave to them. Default:
    /// [`WakeUp::AfterCommit`].
    pub fn wake_relays(&self, when: WakeUp) {
        self.0.sql.set_wake_up(when);
    }

    /// The relay of the outbox in this database. Without [sinks](Relay::sinks) it carries out invalidations and jobs, and (with the
    /// feature `stream`) the entries that are appended to streams: messages wait for a relay that has a sink for them, and are logged, counted and parked after a day
    /// ([`unrouted_max`](Relay::unrouted_max)), except that messages with a key wait forever. Effects are carried out on the
    /// caches and queues of this keel, so the relay must use the same Redis and the same prefix as the programs that commit.
    pub fn relay<DB: Database>(&self, pool: &Pool<DB>) -> Relay<DB> {
        #[cfg(feature = "stream")]
        self.0.stores.streams.databases.add(Arc::new(crate::stream::SqlTable(DB::erased(pool))));
        Relay::with_defaults(&self.0.sql, DB::erased(pool))
    }

    /// Sets the sinks of this keel's fast path: unordered messages are sent right after their commit. [`Relay::sinks`] sets
    /// them too; this method is for a program that runs no relay. Without sinks, messages wait for a relay.
    pub fn publish_to(&self, sinks: &Sinks) {
        self.0.sql.set_sinks(sinks);
    }

    /// The inbox in the database of `pool`. [`migrate`](crate::sql::migrate) must have run before.
    pub fn inbox<DB: Database>(&self, pool: &Pool<DB>) -> Inbox<DB> {
        Inbox::new(DB::erased(pool), &self.0.context.clock)
    }

    /// Begins a transaction for [`ForUpdate`](crate::sql::ForUpdate) reads, in which no statement waits longer than `wait` for a row
    /// that another transaction has locked (`None`: the server's own limit).
    ///
    /// PostgreSQL applies the limit in milliseconds. MySQL and MariaDB take seconds: the limit is rounded up to 1, 2, 5, 10, 20, 30,
    /// 60 or 600, and reset to the server's default when the transaction ends. SQLite locks the file when the transaction begins, and
    /// the limit applies to that.
    ///
    /// # Errors
    /// [`SqlError::Database`], [`SqlError::Busy`] (SQLite: another writer holds the file): no transaction was begun.
    pub async fn begin_locking<DB: Database>(
        &self,
        pool: &Pool<DB>,
        wait: impl Into<Option<Duration>>,
    ) -> Result<LockingTransaction<DB>, SqlError> {
        LockingTransaction::begin(&self.0.context.clock, pool, wait.into()).await
    }

    /// Calls `work` until it meets no conflict: a row that another transaction has changed since it was read
    /// ([`Stale`](crate::sql::Stale)), a deadlock, a lock that was not granted, a serialization failure.
    ///
    /// `work` is a whole transaction, from its first read to its commit: it is called again for each attempt and must read again.
    ///
    /// **Guarantee.** `work` is called at most [`attempts`](ConflictPolicy::attempts) times, with delays in between. An error that is
    /// not a conflict is returned at once, in particular a lost connection: the commit may have happened, and a repetition could
    /// apply it twice.
    /// **Not guaranteed.** That an attempt succeeds while many transactions contend for the same rows: see
    /// [`retry_adaptively`](Self::retry_adaptively).
    ///
    /// # Errors
    /// [`ConflictError::GaveUp`], [`ConflictError::Failed`].
    pub async fn retry_on_conflict<T, E, F>(
        &self,
        policy: &ConflictPolicy,
        mut work: impl FnMut() -> F,
    ) -> Result<T, ConflictError<E>>
    where
        E: Contended + Error + 'static,
        F: Future<Output = Result<T, E>>,
    {
        self.retry_adaptively(policy, u32::MAX, move |_| work()).await
    }

    /// As [`retry_on_conflict`](Self::retry_on_conflict); after `conflicts_max` conflicts it calls `work` with
    /// [`Approach::Pessimistic`], so that it locks its rows. Other transactions then wait, and this one meets no further version
    /// conflict.
    ///
    /// # Errors
    /// As [`retry_on_conflict`](Self::retry_on_conflict).
    pub async fn retry_adaptively<T, E, F>(
        &self,
        policy: &ConflictPolicy,
        conflicts_max: u32,
        work: impl FnMut(Approach) -> F,
    ) -> Result<T, ConflictError<E>>
    where
        E: Contended + Error + 'static,
        F: Future<Output = Result<T, E>>,
    {
        retry_adaptively(&self.0.context.clock, policy, conflicts_max, work).await
    }
}

#[cfg(feature = "stream")]
impl Sinks {
    /// Sends the entries that units of work append ([`Effects::append`](crate::sql::Effects::append)) to the streams of this keel, which must
    /// be on the same Redis, under the same prefix, as those of the programs that commit. A [relay](Keel::relay) sends them to the streams of
    /// its own keel without this route.
    #[must_use]
    pub fn streams(self, keel: &Keel) -> Self {
        self.route(TOPIC_PREFIX, StreamAppends::new(&keel.0.stores.streams))
    }
}

impl StreamSink {
    /// Streams in the Redis of this keel. In memory they belong to this sink and its clones.
    #[must_use]
    pub fn new(keel: &Keel) -> Self {
        match keel.link() {
            Some(link) => Self::on(link.clone()),
            None => Self::memory(&keel.0.context.clock),
        }
    }
}
