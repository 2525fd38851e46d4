//! `Durability::Sql`: a row in a SQL table is the judge of each job, and the store only its alarm clock.
//!
//! The row lives until the job is done. A delivery begins by writing its fence into the row, and does not begin if the row is
//! gone, ended, or of another version; the end of a job is written there before the store hears of it; and what the store has
//! lost (a flush, a failover, a restart of the embedded store) is put back from the rows by themselves. docs/spec/queue.md has
//! the steps.
//!
//! `judge` is what the queue asks; `operate` what operators do to jobs; `table` what they ask the database, `rows` and
//! `statements` how; `start` the question before a handler runs; `sweep` the loop that puts back.

mod judge;
mod metrics;
mod operate;
mod rows;
mod start;
mod statements;
mod sweep;
mod table;

pub(crate) use judge::Judge;
pub(super) use rows::SqlTable;
#[cfg(feature = "testing")]
pub use rows::page_by_due;
pub(crate) use rows::upsert_jobs;
pub(super) use start::Start;
#[cfg(feature = "testing")]
pub(super) use sweep::Cursor;
pub use sweep::Swept;
pub(super) use sweep::keep_sweeping;
pub(super) use table::JobTable;
