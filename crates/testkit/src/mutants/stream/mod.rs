//! The guards of streams.

mod command;
mod steps;
mod user;

use super::Mutant;

pub(super) const ROWS: &[&[Mutant]] = &[steps::ROWS, user::ROWS, command::ROWS];
