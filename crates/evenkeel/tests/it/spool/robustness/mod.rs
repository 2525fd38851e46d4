//! Random misuse of spools.

mod extremes;
mod hostile;

pub(crate) use extremes::extremes;
pub(crate) use hostile::hostile;
