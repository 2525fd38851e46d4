//! Schedules: recurring jobs.

pub(crate) mod cron;
pub(crate) mod periodic;
mod shown;
