//! [`Writer`]: changes links. Each change is one unit of work: the rows and their effects, or nothing.

use super::database::{Dialect, Pools};
use super::hook::{Change, ChangeHook};
use super::import;
use super::statements::{self, RowLock};
use super::{CODE_ATTEMPTS_MAX, Connection, ImportLog, ImportRow, RowOutcome, Store, StoreError, with_database};
use crate::domain::{Code, Link, LinkPatch, NewLink, next_version, truncate_to_ms};
use evenkeel::Keel;
use evenkeel::queue::QueueBuilder;
use evenkeel::sql::{ConflictError, ConflictPolicy, Work};
use jiff::Timestamp;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;

/// Attempts of a change that meets deadlocks or lock timeouts.
const ATTEMPTS_MAX: u32 = 5;

/// Links per transaction when missing expiry jobs are enqueued.
const EXPIRY_JOBS_PER_BATCH: u32 = 500;

/// The row of `link_settings` that says that no expiry jobs are missing.
const EXPIRY_JOBS_SETTING: &str = "ends_have_jobs";

/// Changes links. Cheap to clone. Dereferences to [`Store`] for reads.
#[derive(Clone)]
pub struct Writer {
    store: Store,
    pub(super) keel: Keel,
    hook: Arc<dyn ChangeHook>,
}

/// A committed write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed<T> {
    /// The result.
    pub value: T,
    /// Whether the effects were carried out already. If not, a relay does it.
    pub effects_done: bool,
}

/// The outcome of a due expiry job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryOutcome {
    /// The link was marked as ended.
    Marked,
    /// The link was marked before, has no expiry, or does not exist.
    Unchanged,
    /// The link expires at this later time.
    NotYet(Timestamp),
}

impl Deref for Writer {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

impl Store {
    /// A writer whose changes have the effects that `hook` adds; `keel` carries them out.
    #[must_use]
    pub fn writer(&self, keel: &Keel, hook: Arc<dyn ChangeHook>) -> Writer {
        Writer { store: self.clone(), keel: keel.clone(), hook }
    }

    /// Makes rows in this database the source of truth of a queue's jobs.
    pub fn back_queue<T>(&self, queue: QueueBuilder<T>) -> QueueBuilder<T> {
        with_database!(self, pools => queue.sql(&pools.writers))
    }
}

impl Writer {
    /// Creates a link.
    ///
    /// # Errors
    /// [`StoreError::AliasTaken`]; otherwise as [`patch`](Self::patch).
    pub async fn create(&self, new: NewLink) -> Result<Committed<Link>, StoreError> {
        with_database!(self, pools => self.create_in(pools, new).await)
    }

    /// Changes a link; `None` if there is none. With `expected`, only if the link has that version.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] if the link has another version. [`StoreError::Unavailable`], [`StoreError::Unconfirmed`] and
    /// [`StoreError::Work`]: nothing was changed. [`StoreError::OutcomeUnknown`]: the change may have been committed.
    pub async fn patch(
        &self,
        code: &Code,
        patch: &LinkPatch,
        expected: Option<i64>,
    ) -> Result<Option<Committed<Link>>, StoreError> {
        with_database!(self, pools => self.retry(|| self.patch_in(pools, code, patch, expected)).await)
    }

    /// Deletes a link; `None` if there was none. With `expected`, only if the link has that version.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub async fn delete(&self, code: &Code, expected: Option<i64>) -> Result<Option<Committed<()>>, StoreError> {
        with_database!(self, pools => self.retry(|| self.delete_in(pools, code, expected)).await)
    }

    /// Marks a link as ended, if it has expired.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub async fn expire(&self, code: &Code) -> Result<ExpiryOutcome, StoreError> {
        with_database!(self, pools => self.retry(|| self.expire_in(pools, code)).await)
    }

    /// Imports rows in one unit of work. The outcomes are in the order of the rows. A row is present if its code exists or, without
    /// a code, its target. Imports of several processes are serialized, so equal rows are added once. A row that the database rejects
    /// is refused alone.
    ///
    /// # Errors
    /// As [`patch`](Self::patch): no row was imported or, if the outcome is unknown, all were. A repeat adds no row twice.
    pub async fn import(&self, rows: &[ImportRow]) -> Result<Committed<Vec<RowOutcome>>, StoreError> {
        with_database!(self, pools => import::import(self, pools, rows, None).await)
    }

    /// As [`import`](Self::import), and commits the checkpoint that `log` returns with the rows.
    ///
    /// # Errors
    /// [`StoreError::Log`] if `log` fails: no row was imported. Otherwise as [`import`](Self::import).
    pub async fn import_logged(
        &self,
        rows: &[ImportRow],
        log: &mut ImportLog<'_>,
    ) -> Result<Committed<Vec<RowOutcome>>, StoreError> {
        with_database!(self, pools => import::import(self, pools, rows, Some(log)).await)
    }

    /// Enqueues the expiry jobs of links that an earlier version of this program created, once per database. Returns their number.
    ///
    /// # Errors
    /// As [`patch`](Self::patch). The next call starts again; enqueuing a job twice has no effect.
    pub async fn enqueue_missing_expiry_jobs(&self) -> Result<usize, StoreError> {
        with_database!(self, pools => self.enqueue_missing_expiry_jobs_in(pools).await)
    }

    /// Runs the outbox relay until `shutdown`. Any number of instances may run one at once.
    pub async fn run_relay(&self, shutdown: impl Future<Output = ()> + Send) {
        with_database!(self, pools => self.keel.relay(&pools.writers).run(shutdown).await);
    }

    pub(super) async fn begin<DB: Dialect>(&self, pools: &Pools<DB>) -> Result<Work<DB>, StoreError> {
        Ok(self.keel.begin_with(&pools.writers, DB::BEGIN_WRITE).await?)
    }

    /// Repeats a change from its beginning while it meets a deadlock or a lock timeout.
    pub(super) async fn retry<T, F>(&self, change: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let policy = ConflictPolicy::default().attempts(ATTEMPTS_MAX);
        self.keel.retry_on_conflict(&policy, change).await.map_err(ConflictError::into_inner)
    }

    /// Adds the effects of `change` to `work`.
    pub(super) fn add_effects<DB: Dialect>(&self, change: Change<'_>, work: &mut Work<DB>) -> Result<(), StoreError> {
        Ok(self.hook.on_change(&change, work)?)
    }

    async fn create_in<DB: Dialect>(&self, pools: &Pools<DB>, new: NewLink) -> Result<Committed<Link>, StoreError> {
        let now = self.store.now();
        let mut link = Link {
            alias: new.alias.is_some(),
            code: match new.alias {
                Some(alias) => alias,
                None => self.store.next_code_in(pools).await?,
            },
            target: new.target,
            created_at: now,
            updated_at: now,
            expires_at: new.expires_at.map(truncate_to_ms),
            banned: false,
            version: next_version(None, now),
        };
        for _ in 0..CODE_ATTEMPTS_MAX {
            match self.retry(|| self.insert_in(pools, &link)).await {
                Ok(effects_done) => return Ok(Committed { value: link, effects_done }),
                Err(StoreError::Duplicate) if link.alias => return Err(StoreError::AliasTaken(link.code)),
                // An alias or an imported code has the generated code: take the next number.
                Err(StoreError::Duplicate) => link.code = self.store.next_code_in(pools).await?,
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::CodesExhausted)
    }

    async fn insert_in<DB: Dialect>(&self, pools: &Pools<DB>, link: &Link) -> Result<bool, StoreError> {
        let mut work = self.begin(pools).await?;
        statements::insert::<DB>(work.tx(), std::slice::from_ref(link)).await?;
        self.add_effects(Change::Created(link), &mut work)?;
        Ok(work.commit().await?.carried_out)
    }

    async fn patch_in<DB: Dialect>(
        &self,
        pools: &Pools<DB>,
        code: &Code,
        patch: &LinkPatch,
        expected: Option<i64>,
    ) -> Result<Option<Committed<Link>>, StoreError> {
        let mut work = self.begin(pools).await?;
        let Some(before) = lock_link::<DB>(&mut work, code, expected).await? else { return Ok(None) };
        let now = self.store.now();
        let (version, end) = (next_version(Some(before.version), now), before.expires_at);
        let link = patch.clone().apply(before, version, now);
        let expiry_changed = link.expires_at != end;
        statements::update::<DB>(work.tx(), &link, expiry_changed).await?;
        self.add_effects(Change::Changed { link: &link, expiry_changed }, &mut work)?;
        let effects_done = work.commit().await?.carried_out;
        Ok(Some(Committed { value: link, effects_done }))
    }

    async fn delete_in<DB: Dialect>(
        &self,
        pools: &Pools<DB>,
        code: &Code,
        expected: Option<i64>,
    ) -> Result<Option<Committed<()>>, StoreError> {
        let mut work = self.begin(pools).await?;
        let Some(link) = lock_link::<DB>(&mut work, code, expected).await? else { return Ok(None) };
        statements::delete::<DB>(work.tx(), code).await?;
        self.add_effects(Change::Deleted(&link), &mut work)?;
        let effects_done = work.commit().await?.carried_out;
        Ok(Some(Committed { value: (), effects_done }))
    }

    async fn expire_in<DB: Dialect>(&self, pools: &Pools<DB>, code: &Code) -> Result<ExpiryOutcome, StoreError> {
        let mut work = self.begin(pools).await?;
        let Some(link) = lock_link::<DB>(&mut work, code, None).await? else { return Ok(ExpiryOutcome::Unchanged) };
        let now = self.store.now();
        match link.expires_at {
            None => return Ok(ExpiryOutcome::Unchanged),
            Some(end) if end > now => return Ok(ExpiryOutcome::NotYet(end)),
            Some(_) => {}
        }
        if !statements::mark_ended::<DB>(work.tx(), code, now.as_millisecond()).await? {
            return Ok(ExpiryOutcome::Unchanged);
        }
        self.add_effects(Change::Expired(&link), &mut work)?;
        work.commit().await?;
        Ok(ExpiryOutcome::Marked)
    }

    async fn enqueue_missing_expiry_jobs_in<DB: Dialect>(&self, pools: &Pools<DB>) -> Result<usize, StoreError> {
        if statements::setting::<DB>(&mut *pools.reader().await?, EXPIRY_JOBS_SETTING).await?.is_some() {
            return Ok(0);
        }
        let now = self.store.now();
        let (mut after, mut found) = (0, 0);
        loop {
            let page = self.store.ending_after(now, after, EXPIRY_JOBS_PER_BATCH).await?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            found += page.len();
            let codes: Vec<Code> = page.into_iter().map(|(_, link)| link.code).collect();
            self.retry(|| self.enqueue_expiry_jobs_in(pools, &codes)).await?;
        }
        statements::setting_or_insert(pools, EXPIRY_JOBS_SETTING, "1").await?;
        Ok(found)
    }

    /// Locks the links, so that a concurrent edit comes entirely before or after.
    async fn enqueue_expiry_jobs_in<DB: Dialect>(&self, pools: &Pools<DB>, codes: &[Code]) -> Result<(), StoreError> {
        let mut work = self.begin(pools).await?;
        for link in statements::find_many::<DB>(work.tx(), codes, RowLock::ForUpdate).await? {
            self.add_effects(Change::MissingExpiryJob(&link), &mut work)?;
        }
        work.commit().await?;
        Ok(())
    }
}

/// The link, locked until the end of the unit of work.
async fn lock_link<DB: Dialect>(
    work: &mut Work<DB>,
    code: &Code,
    expected: Option<i64>,
) -> Result<Option<Link>, StoreError> {
    let link = statements::find_many::<DB>(work.tx(), std::slice::from_ref(code), RowLock::ForUpdate).await?.pop();
    match link {
        Some(link) if expected.is_some_and(|version| version != link.version) => {
            Err(StoreError::VersionConflict { current: link.version })
        }
        link => Ok(link),
    }
}
