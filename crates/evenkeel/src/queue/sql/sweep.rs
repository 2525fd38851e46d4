//! A page of the sweep: compares rows with the store, and restores what the store has lost. The loop over all pages is in `sweeper.rs`.
//!
//! An end in the store ends the row only where the store decides (an expired job, a discarded one). Any other job with a live row is to
//! run, because completions, revocations and deletions are written to the row before the store.

use super::source_of_truth::JobRows;
use super::sweeper::SKIPPED;
use super::table::{Failed, JobRow, PAGE, Page};
use crate::queue::sending::for_work::job_record;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Tried, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{End, JobId};
use evenkeel_protocol::queue::record::encode_error;
use evenkeel_protocol::queue::steps::Head;
use evenkeel_protocol::queue::steps::{Found, Listed, Put, State};
use std::collections::HashMap;
use std::time::Duration;

/// The most bytes of bodies that are read and put at once; a larger body is read alone.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The number of dead letters that are read at once.
const MARKED_DEAD_AT_ONCE: usize = 50;

/// The result of one page of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "`testing` has it"))]
pub struct Swept {
    /// The rows compared.
    pub rows: usize,
    /// The jobs that the store had lost and that were restored.
    pub put_back: usize,
    /// The rows ended because the store has ended their jobs.
    pub ended: usize,
    /// The cursor of the next page; `None` after the last one.
    pub next: Option<JobId>,
}

/// The position of a sweep, and the size of its next page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub(super) after: Option<JobId>,
    pub(super) limit: usize,
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

    /// Moves to the next page after a successful one.
    pub(super) fn advance(&mut self, next: Option<JobId>) {
        *self = Self { after: next, limit: (self.limit * 2).min(PAGE) };
    }
}

/// The result of a comparison of rows with the store.
#[derive(Default)]
struct Compared {
    /// The jobs that the store lacks, with the minimum version to put.
    missing: HashMap<JobId, u64>,
    /// The jobs that have ended in the store.
    ended: Vec<(JobId, u64, End)>,
    /// The jobs that are dead in the store, and not in their rows.
    died: Vec<(JobId, JobRow)>,
}

impl JobRows {
    /// Compares one page of the live rows with the store.
    pub(crate) async fn sweep(&self, cursor: Cursor) -> Result<Swept, QueueError> {
        let rows = self.page(cursor).await?;
        let mut swept = Swept { rows: rows.len(), ..Swept::default() };
        swept.next = if rows.len() < cursor.limit { None } else { rows.last().map(|(id, _)| *id) };
        // A row that the database or the store rejects stops no other.
        let mut tried = Tried::unless(QueueError::is_retryable);
        let Compared { missing, ended, died } = self.compare(&rows, &mut tried).await?;
        tried.note(self.mark_dead(&died).await)?;
        for (id, version, end) in ended {
            let ended = tried.note(self.ask(self.table.end(&self.topic, id, version, end)).await)?;
            swept.ended += usize::from(ended.unwrap_or(false));
        }
        if !missing.is_empty() {
            swept.put_back = tried.note(self.put_back(&missing).await)?.unwrap_or(0);
        }
        if swept.next.is_none() {
            tried.note(self.ask(self.table.forget()).await)?;
        }
        self.metrics.put_back.increment(swept.put_back as u64);
        self.metrics.ended.increment(swept.ended as u64);
        tried.finish()?;
        self.metrics.last_success.set(Duration::from_millis(Clock::system().unix_ms()).as_secs_f64());
        Ok(swept)
    }

    async fn page(&self, cursor: Cursor) -> Result<Vec<(JobId, JobRow)>, QueueError> {
        let due_before = self.horizon_ms(self.store.now_ms());
        let page = Page { after: cursor.after, due_before, limit: cursor.limit };
        self.ask(self.table.page(&self.topic, page)).await
    }

    /// The cursor after a failed page: half the page; a page of one row is skipped until the next round.
    pub(super) async fn halve(&self, cursor: Cursor) -> Cursor {
        if cursor.limit > 1 && guard("sql_sweep_halves") {
            return Cursor { limit: cursor.limit / 2, ..cursor };
        }
        // If the rows cannot be read, the database is unavailable and no row is skipped.
        match self.page(cursor).await {
            Ok(rows) if guard("sql_sweep_halves") => {
                let next = rows.last().map(|(id, _)| *id);
                if let Some((id, times)) = next.and_then(|id| Some((id, self.failing.line_due(SKIPPED, &id)?))) {
                    tracing::error!(queue = %self.topic, %id, times, "a job could not be put into the store; each round retries it");
                }
                Cursor { after: next, ..cursor }
            }
            _ => cursor,
        }
    }

    async fn compare(&self, rows: &[(JobId, JobRow)], tried: &mut Tried<QueueError>) -> Result<Compared, QueueError> {
        let Compared { mut missing, mut ended, mut died } = Compared::default();
        let ids: Vec<JobId> = rows.iter().map(|(id, _)| *id).collect();
        for ((id, row), head) in rows.iter().zip(self.heads(&ids, tried).await?) {
            let Some(head) = head else { continue };
            match head {
                None => _ = missing.insert(*id, row.version),
                Some(Head::Ended { end, version })
                    if version == row.version && is_for_the_store(end) && guard("sql_sweep_ended") =>
                {
                    ended.push((*id, row.version, end));
                }
                // A job with a live row is to run, even if the store has an end of this version or (after a restore of the database) of a
                // newer one.
                Some(Head::Ended { version, .. }) => _ = missing.insert(*id, row.version.max(version + 1)),
                Some(Head::Live { version, .. }) if version < row.version => _ = missing.insert(*id, row.version),
                Some(Head::Live { version, state: State::Dead, .. }) if version == row.version && !row.is_dead => {
                    if row.is_redriven {
                        // The redrive was interrupted before it reached the store, or the store has lost it.
                        missing.insert(*id, row.version + 1);
                    } else {
                        died.push((*id, row.clone()));
                    }
                }
                Some(Head::Live { .. }) => {}
                // Each round meets it again.
                Some(Head::Unreadable) => {
                    if let Some(times) = self.failing.line_due("record", id) {
                        tracing::error!(queue = %self.topic, %id, times, "the record of a job in the store cannot be read");
                    }
                }
            }
        }
        Ok(Compared { missing, ended, died })
    }

    /// Marks the rows of jobs dead that are dead only in the store, such as those of older versions, which did not record deaths in rows.
    pub(super) async fn mark_dead(&self, died: &[(JobId, JobRow)]) -> Result<(), QueueError> {
        if died.is_empty() || !guard("sql_sweep_marks_dead") {
            return Ok(());
        }
        let mut tried = Tried::unless(QueueError::is_retryable);
        for part in died.chunks(MARKED_DEAD_AT_ONCE) {
            let ids: Vec<JobId> = part.iter().map(|(id, _)| *id).collect();
            let found = self.router.jobs(&ids, &mut tried).await?;
            for ((id, row), found) in part.iter().zip(found) {
                let Some(Ok(Some(Found::Live { state: State::Dead, score, job }))) = found else { continue };
                if job.spec.version != Some(row.version) {
                    continue;
                }
                let failure = job.error_notes().last().map(encode_error).unwrap_or_default();
                let failed = Failed { errors: job.errors, failure, is_dead: true, at: score };
                tried.note(self.ask(self.table.mark_dead(&self.topic, *id, row, &failed)).await)?;
            }
        }
        tried.finish()
    }

    /// Restores dead letters that the store has lost.
    pub(crate) async fn restore_dead(&self) -> Result<(), QueueError> {
        let (mut after, mut tried) = (None, Tried::unless(QueueError::is_retryable));
        loop {
            let rows = self.ask(self.table.due(&self.topic, true, false, after, PAGE)).await?;
            let missing = self.compare(&rows, &mut tried).await?.missing;
            if !missing.is_empty() {
                tried.note(self.put_back(&missing).await)?;
            }
            let Some((id, row)) = rows.last().filter(|_| rows.len() == PAGE) else { return tried.finish() };
            after = Some(Listed { score: row.due_at, id: *id });
        }
    }

    async fn put_back(&self, missing: &HashMap<JobId, u64>) -> Result<usize, QueueError> {
        if !guard("sql_sweep_puts_back") {
            return Ok(0);
        }
        let ids: Vec<JobId> = missing.keys().copied().collect();
        let (mut count, mut tried) = (0, Tried::unless(QueueError::is_retryable));
        for batch in batches(&self.ask(self.table.sizes(&self.topic, &ids)).await?) {
            count += tried.note(self.put_batch(&batch, missing).await)?.unwrap_or(0);
        }
        tracing::info!(queue = %self.topic, jobs = count, "jobs that were missing in the store were restored from their rows");
        tried.finish().map(|()| count)
    }

    async fn put_batch(&self, ids: &[JobId], missing: &HashMap<JobId, u64>) -> Result<usize, QueueError> {
        let mut puts = Vec::with_capacity(ids.len());
        for (id, row) in self.ask(self.table.bodies(&self.topic, ids)).await? {
            let Some(version) = missing.get(&id).copied() else { continue };
            let (raised, put) = match self.raised(id, &row, version) {
                Ok(raised) => raised,
                Err(error) => {
                    if let Some(times) = self.failing.line_due("row", &id) {
                        tracing::error!(queue = %self.topic, %id, %error, times, "the row of a job cannot be read");
                    }
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

    /// The row with at least this version, and the put for the store.
    fn raised(&self, id: JobId, row: &JobRow, version: u64) -> Result<(JobRow, Put), QueueError> {
        let version = version.max(row.version);
        let record = job_record(&self.job_of(row)?.spec, version);
        let raised = JobRow { version, record, ..row.clone() };
        let put = self.put_of_row(id, &raised)?;
        Ok((raised, put))
    }
}

/// Whether the store decides about this kind of end. Without the guard it decides about every end.
fn is_for_the_store(end: End) -> bool {
    matches!(end, End::Expired | End::Discarded) || !guard("sql_sweep_row_decides")
}

/// Groups ids so that the bodies of a group are within the limit; a larger body has a group of its own.
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

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, batches};
    use evenkeel_protocol::queue::job::JobId;

    /// All bodies of a page were read and sent at once: 600 of 1 MB timed out, at every attempt.
    // shows: hazard F5
    #[test]
    fn missing_bodies_are_restored_in_portions_of_four_mebibytes() {
        let mib = 1 << 20;
        let sizes = [mib, 2 * mib, mib, 1, 5 * mib, 3, 4];
        let sizes: Vec<(JobId, u64)> = (0..).zip(sizes).map(|(number, bytes)| (JobId([number; 16]), bytes)).collect();
        let portions: Vec<usize> = batches(&sizes).iter().map(Vec::len).collect();
        assert_eq!((BYTES_MAX, portions), (4 * mib, vec![3, 1, 1, 2]), "a larger one alone");
        assert!(batches(&[]).is_empty());
    }
}
