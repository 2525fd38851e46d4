//! `Durability::Sql`: a row in a SQL table is the source of truth for each job; the store only schedules and delivers it.
//!
//! The row exists until the job is done. A delivery starts by writing its fence into the row, and does not start if the row is missing,
//! ended, or of another version. The end of a job is written to the row before the store. The sweep restores from the rows what the store
//! has lost (by a flush, a failover, a restart of the embedded store). docs/spec/queue.md specifies the steps.
//!
//! `source_of_truth` has the operations of the queue, `operate` and `letters` those of operators; `table` is the interface to the database, `rows` and `statements`
//! implement it; `start` is the check before a handler runs; `sweeper` is the loop that restores jobs, `sweep` a page of it.

mod letters;
mod metrics;
mod operate;
mod rows;
mod source_of_truth;
mod start;
mod statements;
mod sweep;
mod sweeper;
mod table;

pub(super) use rows::SqlTable;
#[cfg(feature = "testing")]
pub use rows::page_by_due;
pub(crate) use rows::upsert_jobs;
pub(crate) use source_of_truth::JobRows;
pub(super) use start::Start;
#[cfg(feature = "testing")]
pub(super) use sweep::Cursor;
#[cfg(feature = "testing")]
pub use sweep::Swept;
pub(super) use sweeper::keep_sweeping;
pub(super) use table::JobTable;
