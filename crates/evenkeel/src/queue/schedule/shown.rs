//! A schedule that runs, as the report of its process shows it.

use super::cron::Cron;
use crate::process::draft::{Draft, Reported};
use evenkeel_protocol::process::report::ScheduleReport;
use parking_lot::Mutex;

/// See the module.
pub(super) struct Shown(Mutex<ScheduleReport>);

impl Shown {
    /// A schedule whose ticks are not known yet.
    pub(super) fn of(topic: &str, schedule: &str) -> Self {
        let mut report = ScheduleReport::default();
        (report.topic, report.schedule) = (topic.to_owned(), schedule.to_owned());
        Self(Mutex::new(report))
    }

    /// Records the expression in use, and the enqueued tick.
    pub(super) fn follow(&self, cron: Option<&Cron>, next_ms: Option<u64>) {
        let mut report = self.0.lock();
        let text = cron.map_or("", Cron::text);
        if report.cron != text {
            text.clone_into(&mut report.cron);
        }
        report.next_ms = next_ms;
    }
}

impl Reported for Shown {
    fn add_to(&self, draft: &mut Draft) {
        draft.add(|report| &mut report.schedules, || self.0.lock().clone());
    }
}
