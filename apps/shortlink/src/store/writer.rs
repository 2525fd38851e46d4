//! [`Writer`]: what changes links. Each change is one unit of work: the rows, and what must follow them, or nothing.

use super::dialect::Dialect;
use super::follow::{Change, Follow};
use super::import;
use super::pools::Pools;
use super::statements::{self, Hold};
use super::{CODE_ATTEMPTS_MAX, Connection, ImportLog, ImportRow, RowOutcome, Store, StoreError, with_database};
use crate::domain::{Code, Link, LinkPatch, NewLink, version_after, whole_ms};
use evenkeel::Keel;
use evenkeel::queue::QueueBuilder;
use evenkeel::sql::Work;
use jiff::Timestamp;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;

/// How often a change is begun anew that met a deadlock.
const ATTEMPTS_MAX: u32 = 5;

/// Links whose jobs are sent in one go after an upgrade.
const ENDS_AT_ONCE: u32 = 500;

/// The setting that says that all links that end have their jobs.
const ENDS_SETTING: &str = "ends_have_jobs";

/// What changes links. Cheap to clone; what only reads is [`Store`], which it is used as.
#[derive(Clone)]
pub struct Writer {
    store: Store,
    pub(super) keel: Keel,
    follow: Arc<dyn Follow>,
}

/// What was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed<T> {
    /// What the write made.
    pub value: T,
    /// Whether what had to follow has happened already. If not, a relay does it.
    pub is_followed: bool,
}

/// What became of a link whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It has ended just now.
    Now,
    /// It had ended before, has no end, or is not there.
    Before,
    /// It ends then.
    Later(Timestamp),
}

impl Deref for Writer {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

impl Store {
    /// What changes these links; `follow` says what must happen then, which `keel` does.
    #[must_use]
    pub fn writer(&self, keel: &Keel, follow: Arc<dyn Follow>) -> Writer {
        Writer { store: self.clone(), keel: keel.clone(), follow }
    }

    /// Lets rows in this database judge the jobs of a queue.
    pub fn judge<T>(&self, queue: QueueBuilder<T>) -> QueueBuilder<T> {
        with_database!(self, pools => queue.sql(&pools.writers))
    }
}

/// Runs a change again from its beginning while it meets deadlocks.
macro_rules! again {
    ($attempt:expr) => {{
        let mut attempts = 1;
        loop {
            match $attempt.await {
                Err(error) if error.is_contention() && attempts < ATTEMPTS_MAX => attempts += 1,
                other => break other,
            }
        }
    }};
}

impl Writer {
    /// Makes a link.
    ///
    /// # Errors
    /// [`StoreError::AliasTaken`]; otherwise as [`patch`](Self::patch).
    pub async fn create(&self, new: NewLink) -> Result<Committed<Link>, StoreError> {
        with_database!(self, pools => self.create_in(pools, new).await)
    }

    /// Changes a link; `None` if there is none. With `expected`, only if the link still has that version.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] if it has another; [`StoreError::Unavailable`], [`StoreError::Unconfirmed`],
    /// [`StoreError::Work`]: nothing was changed. [`StoreError::OutcomeUnknown`]: nobody knows.
    pub async fn patch(
        &self,
        code: &Code,
        patch: &LinkPatch,
        expected: Option<i64>,
    ) -> Result<Option<Committed<Link>>, StoreError> {
        with_database!(self, pools => again!(self.patch_in(pools, code, patch, expected)))
    }

    /// Deletes a link; `None` if there was none. With `expected`, only if it still has that version.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub async fn delete(&self, code: &Code, expected: Option<i64>) -> Result<Option<Committed<()>>, StoreError> {
        with_database!(self, pools => again!(self.delete_in(pools, code, expected)))
    }

    /// Ends a link, if its end has come.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub async fn end(&self, code: &Code) -> Result<Ended, StoreError> {
        with_database!(self, pools => again!(self.end_in(pools, code)))
    }

    /// Takes rows of an import, all in one unit of work. The answers are in the order of the rows. A row is already there if its
    /// code, else its target, is; imports of several processes take turns, so none of two equal rows is added twice.
    ///
    /// # Errors
    /// As [`patch`](Self::patch): nothing of it was taken, or (unknown) all of it; a repeat finds out.
    pub async fn import(&self, rows: &[ImportRow]) -> Result<Committed<Vec<RowOutcome>>, StoreError> {
        with_database!(self, pools => import::import(self, pools, rows, None).await)
    }

    /// As [`import`](Self::import), together with the checkpoint that `log` answers.
    ///
    /// # Errors
    /// [`StoreError::Log`] if it answers none: nothing was taken then. Otherwise as [`import`](Self::import).
    pub async fn import_logged(
        &self,
        rows: &[ImportRow],
        log: &mut dyn ImportLog,
    ) -> Result<Committed<Vec<RowOutcome>>, StoreError> {
        with_database!(self, pools => import::import(self, pools, rows, Some(log)).await)
    }

    /// Gives the links that end their jobs which an earlier version of this program has made: once in the life of a database.
    /// Answers how many.
    ///
    /// # Errors
    /// As [`patch`](Self::patch); what was done stays done, and is done again the next time.
    pub async fn upgrade_ends(&self) -> Result<usize, StoreError> {
        with_database!(self, pools => self.upgrade_ends_in(pools).await)
    }

    /// Carries out what commits have left undone, of all instances, until `shutdown`. Any number of instances may do so at once.
    pub async fn run_relay(&self, shutdown: impl Future<Output = ()> + Send) {
        with_database!(self, pools => self.keel.relay(&pools.writers).build().run(shutdown).await);
    }

    pub(super) async fn begin<DB: Dialect>(&self, pools: &Pools<DB>) -> Result<Work<DB>, StoreError> {
        Ok(self.keel.begin_with(&pools.writers, DB::OPENS).await?)
    }

    /// Notes in `work` what follows `change`.
    pub(super) fn follow<DB: Dialect>(&self, change: Change<'_>, work: &mut Work<DB>) -> Result<(), StoreError> {
        Ok(self.follow.follow(&change, work)?)
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
            expires_at: new.expires_at.map(whole_ms),
            banned: false,
            version: version_after(None, now),
        };
        for _ in 0..CODE_ATTEMPTS_MAX {
            match again!(self.insert_in(pools, &link)) {
                Ok(is_followed) => return Ok(Committed { value: link, is_followed }),
                Err(StoreError::Duplicate) if link.alias => return Err(StoreError::AliasTaken(link.code)),
                // An alias or an imported code stands where the sequence arrived: the next number will do.
                Err(StoreError::Duplicate) => link.code = self.store.next_code_in(pools).await?,
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::CodesExhausted)
    }

    async fn insert_in<DB: Dialect>(&self, pools: &Pools<DB>, link: &Link) -> Result<bool, StoreError> {
        let mut work = self.begin(pools).await?;
        statements::insert::<DB>(work.tx(), std::slice::from_ref(link)).await?;
        self.follow(Change::Made(link), &mut work)?;
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
        let Some(before) = held::<DB>(&mut work, code, expected).await? else { return Ok(None) };
        let now = self.store.now();
        let (version, end) = (version_after(Some(before.version), now), before.expires_at);
        let link = patch.clone().apply(before, version, now);
        let end_moved = link.expires_at != end;
        statements::update::<DB>(work.tx(), &link, end_moved).await?;
        self.follow(Change::Changed { link: &link, end_moved }, &mut work)?;
        let is_followed = work.commit().await?.carried_out;
        Ok(Some(Committed { value: link, is_followed }))
    }

    async fn delete_in<DB: Dialect>(
        &self,
        pools: &Pools<DB>,
        code: &Code,
        expected: Option<i64>,
    ) -> Result<Option<Committed<()>>, StoreError> {
        let mut work = self.begin(pools).await?;
        let Some(link) = held::<DB>(&mut work, code, expected).await? else { return Ok(None) };
        statements::delete::<DB>(work.tx(), code).await?;
        self.follow(Change::Deleted(&link), &mut work)?;
        let is_followed = work.commit().await?.carried_out;
        Ok(Some(Committed { value: (), is_followed }))
    }

    async fn end_in<DB: Dialect>(&self, pools: &Pools<DB>, code: &Code) -> Result<Ended, StoreError> {
        let mut work = self.begin(pools).await?;
        let Some(link) = held::<DB>(&mut work, code, None).await? else { return Ok(Ended::Before) };
        let now = self.store.now();
        match link.expires_at {
            None => return Ok(Ended::Before),
            Some(end) if end > now => return Ok(Ended::Later(end)),
            Some(_) => {}
        }
        if !statements::end::<DB>(work.tx(), code, now.as_millisecond()).await? {
            return Ok(Ended::Before);
        }
        self.follow(Change::Ended(&link), &mut work)?;
        work.commit().await?;
        Ok(Ended::Now)
    }

    async fn upgrade_ends_in<DB: Dialect>(&self, pools: &Pools<DB>) -> Result<usize, StoreError> {
        if statements::setting::<DB>(&mut *pools.reader().await?, ENDS_SETTING).await?.is_some() {
            return Ok(0);
        }
        let now = self.store.now();
        let (mut after, mut found) = (0, 0);
        loop {
            let page = self.store.ending_after(now, after, ENDS_AT_ONCE).await?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            found += page.len();
            let codes: Vec<Code> = page.into_iter().map(|(_, link)| link.code).collect();
            again!(self.plan_ends_in(pools, &codes))?;
        }
        statements::setting_or_insert::<DB>(&mut *pools.writer().await?, ENDS_SETTING, "1").await?;
        Ok(found)
    }

    /// Held, so that an edit at the same time comes before, or after.
    async fn plan_ends_in<DB: Dialect>(&self, pools: &Pools<DB>, codes: &[Code]) -> Result<(), StoreError> {
        let mut work = self.begin(pools).await?;
        for link in statements::find_many::<DB>(work.tx(), codes, Hold::Yes).await? {
            self.follow(Change::Ending(&link), &mut work)?;
        }
        work.commit().await?;
        Ok(())
    }
}

/// The link, which nobody else can change until the end of the work.
async fn held<DB: Dialect>(
    work: &mut Work<DB>,
    code: &Code,
    expected: Option<i64>,
) -> Result<Option<Link>, StoreError> {
    let link = statements::find_many::<DB>(work.tx(), std::slice::from_ref(code), Hold::Yes).await?.pop();
    match link {
        Some(link) if expected.is_some_and(|version| version != link.version) => {
            Err(StoreError::VersionConflict { current: link.version })
        }
        link => Ok(link),
    }
}
