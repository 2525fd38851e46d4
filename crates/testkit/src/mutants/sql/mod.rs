//! The guards of units of work, the relay, and jobs with rows.

mod relay;
mod source_of_truth;
mod work;

use super::Mutant;

pub(super) const ROWS: &[&[Mutant]] = &[relay::ROWS, source_of_truth::ROWS, work::ROWS];
