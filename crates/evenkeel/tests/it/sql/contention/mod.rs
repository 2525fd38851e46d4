//! Transactions that compete for the same rows.

mod locking;
mod retry;
mod sentences;
