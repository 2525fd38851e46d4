//! The guards of the delay queue.

mod steps;
mod user;

use super::Mutant;

pub(super) const ROWS: &[&[Mutant]] = &[steps::ROWS, user::ROWS];
