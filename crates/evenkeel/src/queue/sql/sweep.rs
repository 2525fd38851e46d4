//! The sweep: compares the rows with the store, page by page and without end, and puts back what the store has lost.

use super::judge::{Judge, step_of};
use super::table::{JobRow, PAGE, Page};
use crate::clock::Clock;
use crate::guard::guard;
use crate::queue::error::QueueError;
use crate::queue::job::JobId;
use crate::queue::steps::{Found, Put, QueueSteps, Shard};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Between two pages: some 5,000 rows a second are looked at.
const BETWEEN_PAGES: Duration = Duration::from_millis(100);
/// After the last page.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(1);
/// What one page may take.
const DEADLINE: Duration = Duration::from_secs(60);

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

impl Judge {
    /// Looks at one page of the live rows, after `after`.
    pub(crate) async fn sweep(&self, after: Option<JobId>) -> Result<Swept, QueueError> {
        let due_before = self.horizon_ms(self.store.now_ms());
        let page = Page { after, due_before, with_records: false };
        let rows = self.ask(self.table.page(&self.topic, page)).await?;
        let mut swept = Swept { rows: rows.len(), ..Swept::default() };
        swept.next = if rows.len() < PAGE { None } else { rows.last().map(|(id, _)| *id) };
        let (missing, ended) = self.compare(&rows).await?;
        for (id, version) in ended {
            swept.ended += usize::from(self.ask(self.table.end(&self.topic, id, version, None)).await?);
        }
        if !missing.is_empty() {
            swept.put_back = self.put_back(Page { with_records: true, ..page }, &missing).await?;
        }
        if swept.next.is_none() {
            self.ask(self.table.forget()).await?;
        }
        self.metrics.put_back.increment(swept.put_back as u64);
        self.metrics.ended.increment(swept.ended as u64);
        self.metrics.last_success.set(Duration::from_millis(Clock::system().unix_ms()).as_secs_f64());
        Ok(swept)
    }

    /// The jobs that the store lacks (with the version that it must be given at least), and those that have ended there.
    async fn compare(&self, rows: &[(JobId, JobRow)]) -> Result<(HashMap<JobId, u64>, Vec<(JobId, u64)>), QueueError> {
        let (mut missing, mut ended) = (HashMap::new(), Vec::new());
        let ids: Vec<JobId> = rows.iter().map(|(id, _)| *id).collect();
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.jobs(&shard, &ids).await };
        let found = self.router.route(&ids, |id| *id, ask, |looked| matches!(looked, Ok(None))).await?;
        for ((id, row), found) in rows.iter().zip(found) {
            match found {
                Ok(None) => _ = missing.insert(*id, row.version),
                // Its version has ended there: by a handler, too late, by an operator.
                Ok(Some(Found::Ended(stamp))) if stamp.version == row.version && guard("sql_sweep_ended") => {
                    ended.push((*id, row.version));
                }
                // The row has a newer one; or an older one, if the database was set back: what it says counts.
                Ok(Some(Found::Ended(stamp))) => _ = missing.insert(*id, row.version.max(stamp.version + 1)),
                Ok(Some(Found::Live { job, .. })) if job.spec.version.unwrap_or(0) < row.version => {
                    missing.insert(*id, row.version);
                }
                Ok(Some(Found::Live { .. })) => {}
                Err(error) => {
                    tracing::error!(queue = %self.topic, %id, %error, "a job in the store cannot be read");
                }
            }
        }
        Ok((missing, ended))
    }

    async fn put_back(&self, page: Page, missing: &HashMap<JobId, u64>) -> Result<usize, QueueError> {
        if !guard("sql_sweep_puts_back") {
            return Ok(0);
        }
        let rows = self.ask(self.table.page(&self.topic, page)).await?;
        let mut puts = Vec::with_capacity(missing.len());
        for (id, row) in rows {
            let Some(version) = missing.get(&id).copied() else { continue };
            let mut job = self.job_of(&row)?;
            let due_at = row.due_at;
            if version > row.version {
                let seen = row.version;
                job.spec.version = Some(version);
                let raised = JobRow { version, record: crate::queue::for_work::job_record(&job.spec, version), ..row };
                if !self.ask(self.table.change(&self.topic, id, seen, &raised)).await? {
                    continue;
                }
            }
            puts.push(step_of(&self.put_with(id, due_at, job), u64::MAX));
        }
        let steps: Vec<Put> = puts.into_iter().flatten().collect();
        let count = self.router.put(&steps).await?.len();
        tracing::info!(queue = %self.topic, jobs = count, "the store had lost jobs, or not got them yet; they are there again");
        Ok(count)
    }
}

/// The loop of one process. Any number of processes may run it.
pub(crate) async fn keep_sweeping(judge: Arc<Judge>) {
    // On the machine's clock: what is waited for is a server, and no job's time.
    let clock = Clock::system();
    let mut after = None;
    loop {
        let pause = match clock.timeout(DEADLINE, judge.sweep(after)).await {
            Ok(Ok(swept)) => {
                after = swept.next;
                if after.is_some() { BETWEEN_PAGES } else { BETWEEN_ROUNDS }
            }
            Ok(Err(error)) => {
                tracing::warn!(queue = %judge.topic, %error, "the rows of jobs could not be compared with the store");
                BETWEEN_ROUNDS
            }
            Err(_) => {
                tracing::warn!(queue = %judge.topic, "comparing the rows of jobs with the store takes too long");
                BETWEEN_ROUNDS
            }
        };
        clock.sleep(pause).await;
    }
}
