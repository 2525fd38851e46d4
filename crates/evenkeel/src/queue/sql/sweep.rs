//! The sweep: compares the rows with the store, page by page and without end, and puts back what the store has lost.
//!
//! What the store says of an end counts only where ending a job is for the store to decide (too late, not worth keeping). Otherwise a row
//! that lives is a job that is to run: a handler's end, a revocation and a deletion are in the row before they are in the store.

use super::judge::Judge;
use super::table::{Failed, JobRow, LIST_MAX, PAGE, Page};
use crate::queue::sending::for_work::job_record;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{End, JobId};
use evenkeel_protocol::queue::record::encode_error;
use evenkeel_protocol::queue::steps::Head;
use evenkeel_protocol::queue::steps::{Found, Listed, Looked, Put, Shard, State};
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

/// So many dead letters are read at once.
const BURIED_AT_ONCE: usize = 50;

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

/// What a comparison of rows with the store finds.
#[derive(Default)]
struct Compared {
    /// The jobs that the store lacks, with the version that it must be given at least.
    missing: HashMap<JobId, u64>,
    /// Those that have ended there.
    ended: Vec<(JobId, u64, End)>,
    /// Those that are dead there, and not in their rows.
    died: Vec<(JobId, JobRow)>,
}

impl Judge {
    /// Looks at one page of the live rows.
    pub(crate) async fn sweep(&self, cursor: Cursor) -> Result<Swept, QueueError> {
        let rows = self.page(cursor).await?;
        let mut swept = Swept { rows: rows.len(), ..Swept::default() };
        swept.next = if rows.len() < cursor.limit { None } else { rows.last().map(|(id, _)| *id) };
        let Compared { missing, ended, died } = self.compare(&rows).await?;
        self.bury(&died).await?;
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

    async fn compare(&self, rows: &[(JobId, JobRow)]) -> Result<Compared, QueueError> {
        let Compared { mut missing, mut ended, mut died } = Compared::default();
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
                Some(Head::Live { version, state: State::Dead, .. }) if version == row.version && !row.is_dead => {
                    if row.is_redriven {
                        // Whoever sent it back died before the store heard of it, or the store was set back.
                        missing.insert(*id, row.version + 1);
                    } else {
                        died.push((*id, row.clone()));
                    }
                }
                Some(Head::Live { .. }) => {}
                Some(Head::Unreadable) => {
                    tracing::error!(queue = %self.topic, %id, "a job in the store cannot be read");
                }
            }
        }
        Ok(Compared { missing, ended, died })
    }

    /// What the store alone says is dead, such as from before rows knew of deaths, is dead in its row, too.
    pub(super) async fn bury(&self, died: &[(JobId, JobRow)]) -> Result<(), QueueError> {
        if died.is_empty() || !guard("sql_sweep_buries") {
            return Ok(());
        }
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.jobs(&shard, &ids).await };
        for part in died.chunks(BURIED_AT_ONCE) {
            let ids: Vec<JobId> = part.iter().map(|(id, _)| *id).collect();
            let found = self.router.route(&ids, |id| *id, ask, |looked: &Looked| matches!(looked, Ok(None))).await?;
            for ((id, row), found) in part.iter().zip(found) {
                let Ok(Some(Found::Live { state: State::Dead, score, job })) = found else { continue };
                if job.spec.version != Some(row.version) {
                    continue;
                }
                let failure = job.error_notes().last().map(encode_error).unwrap_or_default();
                let failed = Failed { errors: job.errors, failure, is_dead: true, at: score };
                self.ask(self.table.bury(&self.topic, *id, row, &failed)).await?;
            }
        }
        Ok(())
    }

    /// Puts dead letters into the store that it has lost.
    pub(crate) async fn restore_dead(&self) -> Result<(), QueueError> {
        let mut after = None;
        loop {
            let rows = self.ask(self.table.due(&self.topic, true, after, PAGE)).await?;
            let missing = self.compare(&rows).await?.missing;
            if !missing.is_empty() {
                self.put_back(&missing).await?;
            }
            let Some((id, row)) = rows.last().filter(|_| rows.len() == PAGE) else { return Ok(()) };
            after = Some(Listed { score: row.due_at, id: *id });
        }
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
            let (raised, put) = match self.raised(id, &row, version) {
                Ok(raised) => raised,
                Err(error) => {
                    tracing::error!(queue = %self.topic, %id, %error, "the row of a job cannot be read");
                    continue;
                }
            };
            if version > row.version && !self.ask(self.table.change(&self.topic, id, &row, &raised)).await? {
                continue;
            }
            puts.push(put);
        }
        Ok(self.router.put(&puts).await?.len())
    }

    /// A row under at least this version, and what the store is given.
    fn raised(&self, id: JobId, row: &JobRow, version: u64) -> Result<(JobRow, Put), QueueError> {
        let version = version.max(row.version);
        let record = job_record(&self.job_of(row)?.spec, version);
        let raised = JobRow { version, record, ..row.clone() };
        let put = self.put_of_row(id, &raised)?;
        Ok((raised, put))
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
