//! [`JobTable`]: the table of job rows in any database.

use crate::queue::sending::for_work::JobPut;
use crate::sql::SqlError;
use bytes::Bytes;
use evenkeel_protocol::queue::job::{End, JobId};
use evenkeel_protocol::queue::steps::{Listed, Receipt};
use std::pin::Pin;

pub(super) use crate::sql::database::LIST_MAX;
/// The number of rows of one page of the sweep, and of one deletion.
pub(super) const PAGE: usize = 500;
pub(super) type TableFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SqlError>> + Send + 'a>>;

/// The rows of all queues in one database.
pub(crate) trait JobTable: Send + Sync {
    /// Inserts a row for each job whose id has none, and sets its version in `jobs`. Returns the existing rows of the others.
    fn insert<'a>(&'a self, jobs: &'a mut [JobPut]) -> TableFuture<'a, Vec<Option<JobRow>>>;
    /// Starts a delivery, unless the job is a dead letter or the topic is paused beyond `now`; false: the row does not match.
    fn start<'a>(&'a self, topic: &'a str, begin: Begin) -> TableFuture<'a, bool>;
    /// Ends the job as done, by the delivery that started with this fence; false: the row does not match.
    fn done<'a>(&'a self, topic: &'a str, id: JobId, version: u64, fence: u64) -> TableFuture<'a, bool>;
    /// Records a failed attempt, by the delivery that started with this fence; false: the row does not match.
    fn failed<'a>(
        &'a self,
        topic: &'a str,
        receipt: &'a Receipt,
        version: u64,
        failed: &'a Failed,
    ) -> TableFuture<'a, bool>;
    /// Marks the row of a job dead that is dead in the store; false: the row has changed since it was read.
    fn mark_dead<'a>(&'a self, topic: &'a str, id: JobId, seen: &'a JobRow, died: &'a Failed) -> TableFuture<'a, bool>;
    /// Redrives dead letters (at most `LIST_MAX`), due at `due_at`, with all their attempts.
    fn redrive<'a>(&'a self, topic: &'a str, ids: &'a [JobId], due_at: u64) -> TableFuture<'a, ()>;
    /// Ends a live job of this version, by a decision of the store.
    fn end<'a>(&'a self, topic: &'a str, id: JobId, version: u64, end: End) -> TableFuture<'a, bool>;
    /// Reads the row of a job.
    fn row<'a>(&'a self, topic: &'a str, id: JobId) -> TableFuture<'a, Option<JobRow>>;
    /// Ends a live job with the next version, unless it was changed or started since it was read.
    fn revoke<'a>(&'a self, topic: &'a str, id: JobId, seen: &'a JobRow, end: End) -> TableFuture<'a, bool>;
    /// Writes another due time and record with a new version to a live job, unless it was changed or started since it was read.
    fn change<'a>(&'a self, topic: &'a str, id: JobId, seen: &'a JobRow, row: &'a JobRow) -> TableFuture<'a, bool>;
    /// Reads a page of live jobs in the order of their ids, without their records.
    fn page<'a>(&'a self, topic: &'a str, page: Page) -> TableFuture<'a, Vec<(JobId, JobRow)>>;
    /// Reads a page of waiting and running jobs in the order of due times and ids (or in the opposite order), or of dead letters by time
    /// of death, without their records.
    fn due<'a>(
        &'a self,
        topic: &'a str,
        is_dead: bool,
        descends: bool,
        after: Option<Listed>,
        limit: usize,
    ) -> TableFuture<'a, Vec<(JobId, JobRow)>>;
    /// Reads the rows of some jobs (at most `LIST_MAX`), without their records.
    fn heads<'a>(&'a self, topic: &'a str, ids: &'a [JobId]) -> TableFuture<'a, Vec<(JobId, JobRow)>>;
    /// Reads the sizes in bytes of the records of some live jobs (at most `LIST_MAX`).
    fn sizes<'a>(&'a self, topic: &'a str, ids: &'a [JobId]) -> TableFuture<'a, Vec<(JobId, u64)>>;
    /// Reads some live jobs (at most `LIST_MAX`) with their records.
    fn bodies<'a>(&'a self, topic: &'a str, ids: &'a [JobId]) -> TableFuture<'a, Vec<(JobId, JobRow)>>;
    /// Counts the live jobs.
    fn count<'a>(&'a self, topic: &'a str) -> TableFuture<'a, u64>;
    /// Counts the dead letters.
    fn count_dead<'a>(&'a self, topic: &'a str) -> TableFuture<'a, u64>;
    /// Reads until when the topic is paused.
    fn paused<'a>(&'a self, topic: &'a str) -> TableFuture<'a, Option<u64>>;
    /// Pauses the topic until a time, or ends its pause.
    fn pause<'a>(&'a self, topic: &'a str, until: Option<u64>) -> TableFuture<'a, ()>;
    /// Deletes ended rows whose retention is over; returns their number.
    fn forget(&self) -> TableFuture<'_, u64>;
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
