//! The guards of the cache.

mod near;
mod protection;
mod reads;
mod steps;
mod strong;

use super::Mutant;

pub(super) const ROWS: &[&[Mutant]] = &[steps::ROWS, reads::ROWS, strong::ROWS, near::ROWS, protection::ROWS];
