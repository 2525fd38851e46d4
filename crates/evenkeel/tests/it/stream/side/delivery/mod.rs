//! How entries reach handlers: owners of partitions, order, batches, locks, failures, and suspects.

mod batches;
mod exclusive;
mod failures;
mod order;
mod owners;
mod suspects;
