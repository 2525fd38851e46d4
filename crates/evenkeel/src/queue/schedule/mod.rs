//! Schedules: jobs that come again and again.

pub(crate) mod cron;
pub(crate) mod periodic;
