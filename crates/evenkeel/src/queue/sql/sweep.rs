//! The sweep: compares the rows with the store, page by page and without end, and puts back what the store has lost.
//!
//! What the store says of an end counts only where ending a job is for the store to decide (too late, not worth keeping). Otherwise a row
//! that lives is a job that is to run: a handler's end, a revocation and a deletion are in the row before they are in the store.

use super::judge::{Judge, step_of};
use super::table::{JobRow, LIST_MAX, PAGE, Page};
use crate::clock::Clock;
use crate::guard::guard;
use crate::queue::error::QueueError;
use crate::queue::job::{End, JobId};
use crate::queue::steps::{Head, Put};
use crate::token::Token;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Between two pages: some 5,000 rows a second are looked at.
const BETWEEN_PAGES: Duration = Duration::from_millis(100);
/// After a round, for each page it had; and at the most.
const AFTER_A_PAGE: Duration = Duration::from_secs(1);
const BETWEEN_ROUNDS_MAX: Duration = Duration::from_secs(10);
/// Between two looks at the lease, and after a page that failed.
const LOOK: Duration = Duration::from_secs(1);
/// For how long a process that sweeps keeps others from it after it fell silent.
const LEASE_MS: u64 = 5_000;
/// What one page may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// So many bytes of bodies are read and put at once; a larger one alone.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What one page of a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Rows looked at.
    pub rows: usize,
    /// Jobs that the store had lost, and has again.
    pub put_back: usize,
    /// Rows whose jobs the store says have ended.
    pub ended: usize,
    /// Where the next page begins; none: this was the last one.
    pub next: Option<JobId>,
}

/// Where a sweep is, and how much it dares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    after: Option<JobId>,
    limit: usize,
}

impl Default for Cursor {
    fn default() -> Self {
        Self { after: None, limit: PAGE }
    }
}

impl Cursor {
    #[cfg(feature = "testing")]
    pub(crate) fn after(after: Option<JobId>) -> Self {
        Self { after, limit: PAGE }
    }

    /// A page went well.
    fn passed(&mut self, next: Option<JobId>) {
        *self = Self { after: next, limit: (self.limit * 2).min(PAGE) };
    }
}

impl Judge {
    /// Looks at one page of the live rows.
    pub(crate) async fn sweep(&self, cursor: Cursor) -> Result<Swept, QueueError> {
        let rows = self.page(cursor).await?;
        let mut swept = Swept { rows: rows.len(), ..Swept::default() };
        swept.next = if rows.len() < cursor.limit { None } else { rows.last().map(|(id, _)| *id) };
        let (missing, ended) = self.compare(&rows).await?;
        for (id, version, end) in ended {
            swept.ended += usize::from(self.ask(self.table.end(&self.topic, id, version, end)).await?);
        }
        if !missing.is_empty() {
            swept.put_back = self.put_back(&missing).await?;
        }
        if swept.next.is_none() {
            self.ask(self.table.forget()).await?;
        }
        self.metrics.put_back.increment(swept.put_back as u64);
        self.metrics.ended.increment(swept.ended as u64);
        self.metrics.last_success.set(Duration::from_millis(Clock::system().unix_ms()).as_secs_f64());
        Ok(swept)
    }

    async fn page(&self, cursor: Cursor) -> Result<Vec<(JobId, JobRow)>, QueueError> {
        let due_before = self.horizon_ms(self.store.now_ms());
        let page = Page { after: cursor.after, due_before, limit: cursor.limit };
        self.ask(self.table.page(&self.topic, page)).await
    }

    /// The cursor after a page that failed: half as much; if it was one row, that row is left to the next round.
    async fn halve(&self, cursor: Cursor) -> Cursor {
        if cursor.limit > 1 && guard("sql_sweep_halves") {
            return Cursor { limit: cursor.limit / 2, ..cursor };
        }
        // Without the rows there is nothing to pass by: the database is away.
        match self.page(cursor).await {
            Ok(rows) if guard("sql_sweep_halves") => {
                let next = rows.last().map(|(id, _)| *id);
                tracing::error!(queue = %self.topic, id = ?next, "this job could not be put into the store; it is tried in the next round");
                Cursor { after: next, ..cursor }
            }
            _ => cursor,
        }
    }

    /// The jobs that the store lacks (with the version that it must be given at least), and those that have ended there.
    async fn compare(
        &self,
        rows: &[(JobId, JobRow)],
    ) -> Result<(HashMap<JobId, u64>, Vec<(JobId, u64, End)>), QueueError> {
        let (mut missing, mut ended) = (HashMap::new(), Vec::new());
        let ids: Vec<JobId> = rows.iter().map(|(id, _)| *id).collect();
        for ((id, row), head) in rows.iter().zip(self.heads(&ids).await?) {
            match head {
                None => _ = missing.insert(*id, row.version),
                Some(Head::Ended { end, version })
                    if version == row.version && is_for_the_store(end) && guard("sql_sweep_ended") =>
                {
                    ended.push((*id, row.version, end));
                }
                // The row lives, so the job is to run, whatever the store says of this version or (if the database was set back) of a
                // newer one.
                Some(Head::Ended { version, .. }) => _ = missing.insert(*id, row.version.max(version + 1)),
                Some(Head::Live { version, .. }) if version < row.version => _ = missing.insert(*id, row.version),
                Some(Head::Live { .. }) => {}
                Some(Head::Unreadable) => {
                    tracing::error!(queue = %self.topic, %id, "a job in the store cannot be read");
                }
            }
        }
        Ok((missing, ended))
    }

    async fn put_back(&self, missing: &HashMap<JobId, u64>) -> Result<usize, QueueError> {
        if !guard("sql_sweep_puts_back") {
            return Ok(0);
        }
        let ids: Vec<JobId> = missing.keys().copied().collect();
        let mut count = 0;
        for part in ids.chunks(LIST_MAX) {
            let sizes = self.ask(self.table.sizes(&self.topic, part)).await?;
            for batch in batches(&sizes) {
                count += self.put_batch(&batch, missing).await?;
            }
        }
        tracing::info!(queue = %self.topic, jobs = count, "the store had lost jobs, or not got them yet; they are there again");
        Ok(count)
    }

    async fn put_batch(&self, ids: &[JobId], missing: &HashMap<JobId, u64>) -> Result<usize, QueueError> {
        let mut puts = Vec::with_capacity(ids.len());
        for (id, row) in self.ask(self.table.bodies(&self.topic, ids)).await? {
            let Some(version) = missing.get(&id).copied() else { continue };
            let mut job = match self.job_of(&row) {
                Ok(job) => job,
                Err(error) => {
                    tracing::error!(queue = %self.topic, %id, %error, "the row of a job cannot be read");
                    continue;
                }
            };
            let due_at = row.due_at;
            if version > row.version {
                job.spec.version = Some(version);
                let record = crate::queue::for_work::job_record(&job.spec, version);
                let raised = JobRow { version, record, ..row.clone() };
                if !self.ask(self.table.change(&self.topic, id, &row, &raised)).await? {
                    continue;
                }
            }
            puts.push(step_of(&self.put_with(id, due_at, job), u64::MAX));
        }
        let steps: Vec<Put> = puts.into_iter().flatten().collect();
        Ok(self.router.put(&steps).await?.len())
    }
}

/// Whether the store may end a job of itself. Without the guard, what it says of any end counts.
fn is_for_the_store(end: End) -> bool {
    matches!(end, End::Expired | End::Discarded) || !guard("sql_sweep_row_decides")
}

/// Ids whose bodies together are not above the limit; a larger one alone.
fn batches(sizes: &[(JobId, u64)]) -> Vec<Vec<JobId>> {
    let (mut batches, mut filled) = (Vec::<Vec<JobId>>::new(), u64::MAX);
    for (id, bytes) in sizes {
        filled = filled.saturating_add(*bytes);
        match batches.last_mut() {
            Some(batch) if filled <= BYTES_MAX => batch.push(*id),
            _ => {
                batches.push(vec![*id]);
                filled = *bytes;
            }
        }
    }
    batches
}

/// The loop of one process. Of all that have the queue open on one Redis, one at a time sweeps.
pub(crate) async fn keep_sweeping(judge: Arc<Judge>) {
    // On the machine's clock: what is waited for is a server, and no job's time.
    let clock = Clock::system();
    let caller = Token::random();
    let mut cursor = Cursor::default();
    let (mut pages, mut begins_at) = (0, clock.now());
    loop {
        let shards = judge.router.shards();
        let lease = judge.store.sweep_lease(shards.at(0), caller.as_bytes(), LEASE_MS).await;
        let is_new = match lease {
            Ok(Some(is_new)) => is_new,
            Ok(None) => {
                clock.sleep(LOOK).await;
                continue;
            }
            Err(error) => {
                tracing::debug!(queue = %judge.topic, %error, "the lease of the sweep could not be taken");
                clock.sleep(LOOK).await;
                continue;
            }
        };
        // The store was flushed, or the process that swept before has ended: everything may be missing.
        if is_new {
            (cursor, pages, begins_at) = (Cursor::default(), 0, clock.now());
        }
        if clock.now() < begins_at {
            clock.sleep(LOOK).await;
            continue;
        }
        let after_failure = if cursor.limit > 1 { 4 * BETWEEN_PAGES } else { LOOK };
        let pause = match clock.timeout(DEADLINE, one_page(&judge, cursor)).await {
            Ok(Ok(swept)) => {
                cursor.passed(swept.next);
                pages += 1;
                if swept.next.is_none() {
                    begins_at = clock.now() + BETWEEN_ROUNDS_MAX.min(AFTER_A_PAGE * pages);
                    pages = 0;
                }
                BETWEEN_PAGES
            }
            Ok(Err(error)) => {
                tracing::warn!(queue = %judge.topic, rows = cursor.limit, %error, "rows of jobs could not be compared with the store");
                cursor = judge.halve(cursor).await;
                after_failure
            }
            Err(_) => {
                tracing::warn!(queue = %judge.topic, rows = cursor.limit, "comparing rows of jobs with the store takes too long");
                cursor = judge.halve(cursor).await;
                after_failure
            }
        };
        clock.sleep(pause).await;
    }
}

async fn one_page(judge: &Judge, cursor: Cursor) -> Result<Swept, QueueError> {
    if cursor.after.is_none() {
        judge.restore_pause().await?;
    }
    judge.sweep(cursor).await
}
