//! Loads: which readers share one, how many run, and what failures do.

mod batches;
mod crowd;
mod failures;
mod flights;
mod flood;
mod joining;
mod limits;
mod refusals;
mod waiting;
