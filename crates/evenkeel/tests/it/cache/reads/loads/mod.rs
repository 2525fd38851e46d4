//! Loads: which readers share one, how many run, and what failures do.

mod batches;
mod crowd;
mod failures;
mod flood;
mod joining;
mod limits;
mod refusals;
mod single_flight;
mod waiting;
