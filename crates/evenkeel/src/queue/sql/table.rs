//! [`JobTable`]: the table of job rows in any database.

use crate::queue::sending::for_work::JobPut;
use crate::sql::SqlError;
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_protocol::queue::job::{End, JobId};
use evenkeel_protocol::queue::steps::{Listed, Receipt};

/// The number of rows of one page of the sweep, and of one deletion.
pub(super) const PAGE: usize = 500;

/// The rows of all queues in one database.
#[async_trait]
pub(crate) trait JobTable: Send + Sync {
    /// Inserts a row for each job whose id has none, and sets its version in `jobs`. Returns the existing rows of the others.
    async fn insert(&self, jobs: &mut [JobPut]) -> Result<Vec<Option<JobRow>>, SqlError>;
    /// Starts a delivery, unless the job is a dead letter or the topic is paused beyond `now`; false: the row does not match.
    async fn start(&self, topic: &str, begin: Begin) -> Result<bool, SqlError>;
    /// Ends the job as done, by the delivery that started with this fence; false: the row does not match.
    async fn done(&self, topic: &str, id: JobId, version: u64, fence: u64) -> Result<bool, SqlError>;
    /// Records a failed attempt, by the delivery that started with this fence; false: the row does not match.
    async fn failed(&self, topic: &str, receipt: &Receipt, version: u64, failed: &Failed) -> Result<bool, SqlError>;
    /// Marks the row of a job dead that is dead in the store; false: the row has changed since it was read.
    async fn mark_dead(&self, topic: &str, id: JobId, seen: &JobRow, died: &Failed) -> Result<bool, SqlError>;
    /// Redrives dead letters, due at `due_at`, with all their attempts.
    async fn redrive(&self, topic: &str, ids: &[JobId], due_at: u64) -> Result<(), SqlError>;
    /// Ends a live job of this version, by a decision of the store.
    async fn end(&self, topic: &str, id: JobId, version: u64, end: End) -> Result<bool, SqlError>;
    /// Reads the row of a job.
    async fn row(&self, topic: &str, id: JobId) -> Result<Option<JobRow>, SqlError>;
    /// Ends a live job with the next version, unless it was changed or started since it was read.
    async fn revoke(&self, topic: &str, id: JobId, seen: &JobRow, end: End) -> Result<bool, SqlError>;
    /// Writes another due time and record with a new version to a live job, unless it was changed or started since it was read.
    async fn change(&self, topic: &str, id: JobId, seen: &JobRow, row: &JobRow) -> Result<bool, SqlError>;
    /// Reads a page of live jobs in the order of their ids, without their records.
    async fn page(&self, topic: &str, page: Page) -> Result<Vec<(JobId, JobRow)>, SqlError>;
    /// Reads a page of waiting and running jobs in the order of due times and ids (or in the opposite order), or of dead letters by time
    /// of death, without their records.
    async fn due(
        &self,
        topic: &str,
        is_dead: bool,
        descends: bool,
        after: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<(JobId, JobRow)>, SqlError>;
    /// Reads the rows of some jobs, without their records.
    async fn heads(&self, topic: &str, ids: &[JobId]) -> Result<Vec<(JobId, JobRow)>, SqlError>;
    /// Reads the sizes in bytes of the records of some live jobs.
    async fn sizes(&self, topic: &str, ids: &[JobId]) -> Result<Vec<(JobId, u64)>, SqlError>;
    /// Reads some live jobs with their records.
    async fn bodies(&self, topic: &str, ids: &[JobId]) -> Result<Vec<(JobId, JobRow)>, SqlError>;
    /// Counts the live jobs.
    async fn count(&self, topic: &str) -> Result<u64, SqlError>;
    /// Counts the dead letters.
    async fn count_dead(&self, topic: &str) -> Result<u64, SqlError>;
    /// Reads until when the topic is paused.
    async fn paused(&self, topic: &str) -> Result<Option<u64>, SqlError>;
    /// Pauses the topic until a time, or ends its pause.
    async fn pause(&self, topic: &str, until: Option<u64>) -> Result<(), SqlError>;
    /// Deletes ended rows whose retention is over; returns their number.
    async fn forget(&self) -> Result<u64, SqlError>;
}

/// The row of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobRow {
    pub(super) version: u64,
    pub(super) is_live: bool,
    pub(super) fence: u64,
    /// The due time; for a dead letter its time of death.
    pub(super) due_at: u64,
    /// How the job ended, if it has.
    pub(super) ended_as: Option<End>,
    /// The number of failed attempts.
    pub(super) errors: u16,
    pub(super) is_dead: bool,
    /// The job was redriven and has not started since.
    pub(super) is_redriven: bool,
    pub(super) record: Bytes,
    /// The last error, encoded as in a record; empty if there was none.
    pub(super) failure: Bytes,
}

/// A failed attempt, or the last attempt of a dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(super) errors: u16,
    /// The error, encoded as in a record.
    pub(super) failure: Bytes,
    pub(super) is_dead: bool,
    /// The due time of the next attempt; for a dead letter its time of death.
    pub(super) at: u64,
}

/// A delivery that is to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    pub(super) id: JobId,
    pub(super) version: u64,
    pub(super) fence: u64,
    /// The number of errors in the store, which counts crashes before the row does.
    pub(super) errors: u16,
    pub(super) now: u64,
}

/// The rows of one page: live jobs with an id after `after` that are due before `due_before`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(super) after: Option<JobId>,
    pub(super) due_before: u64,
    pub(super) limit: usize,
}
