//! The guards of locks.

mod exclusive;
mod pool;
mod redlock;
mod sql_lock;

use super::Mutant;

pub(super) const ROWS: &[&[Mutant]] = &[exclusive::ROWS, redlock::ROWS, pool::ROWS, sql_lock::ROWS];
