//! The guards of units of work, the relay, and jobs with rows.

mod judge;
mod relay;
mod work;

use super::Mutant;

pub(super) const ROWS: &[&[Mutant]] = &[relay::ROWS, judge::ROWS, work::ROWS];
