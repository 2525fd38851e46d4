//! The guards of streams.

mod steps;
mod user;

use super::Mutant;

pub(super) const ROWS: &[&[Mutant]] = &[steps::ROWS, user::ROWS];
