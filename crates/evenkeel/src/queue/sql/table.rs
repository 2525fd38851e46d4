//! What a judge asks its table: one row per job.

use crate::queue::sending::for_work::JobPut;
use crate::sql::SqlError;
use bytes::Bytes;
use evenkeel_protocol::queue::job::{End, JobId};
use evenkeel_protocol::queue::steps::{Listed, Receipt};
use std::pin::Pin;

pub(super) use crate::sql::database::LIST_MAX;
/// Rows of one page of the sweep, and of one deletion.
pub(super) const PAGE: usize = 500;
pub(super) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, SqlError>> + Send + 'a>>;

/// The rows of all queues in one database, whichever it is.
pub(crate) trait JobTable: Send + Sync {
    /// Makes a row for each job whose id has none. Answers what each job is in by now: its new version, or the row that was there.
    fn insert<'a>(&'a self, jobs: &'a mut [JobPut]) -> Answer<'a, Vec<Option<JobRow>>>;
    /// Lets a delivery begin, unless it is a dead letter or the topic is paused beyond `now`; false: the row does not match.
    fn start<'a>(&'a self, topic: &'a str, begin: Begin) -> Answer<'a, bool>;
    /// The job is done, by the delivery that began under this fence.
    fn done<'a>(&'a self, topic: &'a str, id: JobId, version: u64, fence: u64) -> Answer<'a, bool>;
    /// An attempt has failed, by the delivery that began under this fence; false: the row does not match.
    fn failed<'a>(&'a self, topic: &'a str, receipt: &'a Receipt, version: u64, failed: &'a Failed)
    -> Answer<'a, bool>;
    /// The store says of a job that it is dead, and its row does not; false: the row is not as it was seen.
    fn bury<'a>(&'a self, topic: &'a str, id: JobId, seen: &'a JobRow, died: &'a Failed) -> Answer<'a, bool>;
    /// Lets dead letters (at most `LIST_MAX`) live again, due then, with all their attempts.
    fn redrive<'a>(&'a self, topic: &'a str, ids: &'a [JobId], due_at: u64) -> Answer<'a, ()>;
    /// The store has ended a job of this version in a way that is for the store to decide.
    fn end<'a>(&'a self, topic: &'a str, id: JobId, version: u64, end: End) -> Answer<'a, bool>;
    /// The row of a job.
    fn row<'a>(&'a self, topic: &'a str, id: JobId) -> Answer<'a, Option<JobRow>>;
    /// Ends a live job by hand, under the next version, unless it was changed or begun since it was seen.
    fn revoke<'a>(&'a self, topic: &'a str, id: JobId, seen: &'a JobRow, end: End) -> Answer<'a, bool>;
    /// Gives a live job another time and record, under a new version, unless it was changed or begun since it was seen.
    fn change<'a>(&'a self, topic: &'a str, id: JobId, seen: &'a JobRow, row: &'a JobRow) -> Answer<'a, bool>;
    /// The live jobs that are due before then, in the order of their ids, after one of them; without their records.
    fn page<'a>(&'a self, topic: &'a str, page: Page) -> Answer<'a, Vec<(JobId, JobRow)>>;
    /// What waits or runs in the order of due times, then of ids, after one of them; or the dead letters by time of death. Without their
    /// records.
    fn due<'a>(
        &'a self,
        topic: &'a str,
        is_dead: bool,
        after: Option<Listed>,
        limit: usize,
    ) -> Answer<'a, Vec<(JobId, JobRow)>>;
    /// The rows of some jobs (at most `LIST_MAX`), without their records.
    fn heads<'a>(&'a self, topic: &'a str, ids: &'a [JobId]) -> Answer<'a, Vec<(JobId, JobRow)>>;
    /// How many bytes the records of some live jobs have (at most `LIST_MAX`).
    fn sizes<'a>(&'a self, topic: &'a str, ids: &'a [JobId]) -> Answer<'a, Vec<(JobId, u64)>>;
    /// Some live jobs (at most `LIST_MAX`) with their records.
    fn bodies<'a>(&'a self, topic: &'a str, ids: &'a [JobId]) -> Answer<'a, Vec<(JobId, JobRow)>>;
    /// How many jobs live.
    fn count<'a>(&'a self, topic: &'a str) -> Answer<'a, u64>;
    /// How many of them are dead letters.
    fn count_dead<'a>(&'a self, topic: &'a str) -> Answer<'a, u64>;
    /// Until when the topic is paused.
    fn paused<'a>(&'a self, topic: &'a str) -> Answer<'a, Option<u64>>;
    /// Pauses the topic until then, or ends its pause.
    fn pause<'a>(&'a self, topic: &'a str, until: Option<u64>) -> Answer<'a, ()>;
    /// Deletes rows of jobs that have ended and need not be remembered any more; how many.
    fn forget(&self) -> Answer<'_, u64>;
}

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobRow {
    pub(super) version: u64,
    pub(super) is_live: bool,
    pub(super) fence: u64,
    /// Of a dead letter, when it died.
    pub(super) due_at: u64,
    /// How it ended, if it has.
    pub(super) ended_as: Option<End>,
    /// Attempts that have failed.
    pub(super) errors: u16,
    pub(super) is_dead: bool,
    /// It was a dead letter and was sent back, and has not begun since.
    pub(super) is_redriven: bool,
    pub(super) record: Bytes,
    /// Its last error, as a record notes it; empty if there was none.
    pub(super) failure: Bytes,
}

/// An attempt that has failed, or the last one of a dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(super) errors: u16,
    /// The error, as a record notes it.
    pub(super) failure: Bytes,
    pub(super) is_dead: bool,
    /// When the next attempt is due; of a dead letter, when it died.
    pub(super) at: u64,
}

/// A delivery that wants to begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    pub(super) id: JobId,
    pub(super) version: u64,
    pub(super) fence: u64,
    /// As the store counts them: a crash is known there first.
    pub(super) errors: u16,
    pub(super) now: u64,
}

/// Which rows of a sweep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(super) after: Option<JobId>,
    pub(super) due_before: u64,
    pub(super) limit: usize,
}
