//! [`Draft`]: a report while the parts of the process add what they do.

use evenkeel_link::clock::Moment;
use evenkeel_protocol::process::fit::ITEMS_MAX;
use evenkeel_protocol::process::report::ProcessReport;

/// A part of the process that the report shows.
pub(crate) trait Reported: Send + Sync {
    /// Adds it to the report. Must not block: a report costs less than a millisecond.
    fn add_to(&self, draft: &mut Draft);
}

/// See the module.
pub(crate) struct Draft {
    pub(crate) report: ProcessReport,
    /// This process's time, and the store's at the same moment.
    pub(crate) now: Moment,
    pub(crate) now_ms: u64,
}

impl Draft {
    /// Adds an item to a list of the report, if it has room.
    #[cfg_attr(
        not(any(feature = "cache", feature = "queue", feature = "lock", feature = "stream", feature = "sql")),
        expect(dead_code, reason = "without capabilities there is nothing to add")
    )]
    pub(crate) fn add<T>(&mut self, list: impl FnOnce(&mut ProcessReport) -> &mut Vec<T>, item: impl FnOnce() -> T) {
        let list = list(&mut self.report);
        if list.len() < ITEMS_MAX {
            list.push(item());
        } else {
            self.report.left_out += 1;
        }
    }

    /// The store's time at a moment of this process.
    #[cfg_attr(
        not(any(feature = "queue", feature = "lock", feature = "sql")),
        expect(dead_code, reason = "only jobs, locks and relays have times")
    )]
    pub(crate) fn at(&self, moment: Moment) -> u64 {
        let ago_ms = u64::try_from(self.now.since(moment).as_millis()).unwrap_or(u64::MAX);
        self.now_ms.saturating_sub(ago_ms)
    }
}
