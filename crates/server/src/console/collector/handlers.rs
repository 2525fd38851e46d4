//! [`HandlerTimes`]: the handlers of each topic that have returned, from the counters of the processes, which begin with each process.

use evenkeel::process::ProcessReport;
use std::collections::BTreeMap;

/// Handlers that have returned, and the time that they took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Handled {
    pub(super) count: u64,
    pub(super) ms: u64,
}

impl Handled {
    pub(super) fn add(&mut self, more: Self) {
        self.count = self.count.saturating_add(more.count);
        self.ms = self.ms.saturating_add(more.ms);
    }

    /// Those since `earlier`; `None` if the counters have begun anew.
    fn since(self, earlier: Self) -> Option<Self> {
        Some(Self { count: self.count.checked_sub(earlier.count)?, ms: self.ms.checked_sub(earlier.ms)? })
    }
}

/// The counters that were read last, by process and topic.
#[derive(Default)]
pub(super) struct HandlerTimes(BTreeMap<(String, String), Handled>);

impl HandlerTimes {
    /// What was added to the counters since the last reading, by topic. The counters of a process that was not read before are the beginning.
    /// `living` are the processes that are alive, by their ids.
    pub(super) fn next<'a>(
        &mut self,
        living: impl Iterator<Item = (&'a str, &'a ProcessReport)>,
    ) -> BTreeMap<String, Handled> {
        let mut counters: BTreeMap<(String, String), Handled> = BTreeMap::new();
        for (process, report) in living {
            for consumer in &report.consumers {
                let counted = Handled { count: consumer.handled, ms: consumer.handled_ms };
                counters.entry((process.to_owned(), consumer.topic.clone())).or_default().add(counted);
            }
        }
        let mut added: BTreeMap<String, Handled> = BTreeMap::new();
        for (key, counted) in &counters {
            if let Some(more) = self.0.get(key).and_then(|earlier| counted.since(*earlier)) {
                added.entry(key.1.clone()).or_default().add(more);
            }
        }
        self.0 = counters;
        added
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use serde_json::json;

    /// What is added by reports of processes, by their ids, each with the counters of a consumer of `mail`.
    fn added(times: &mut HandlerTimes, counters: &[(&'static str, u64, u64)]) -> Option<Handled> {
        let report = |&(id, count, ms): &(&'static str, u64, u64)| {
            let consumer = json!({ "topic": "mail", "handled": count, "handled_ms": ms });
            let report: ProcessReport = serde_json::from_value(json!({ "consumers": [consumer] })).unwrap();
            (id, report)
        };
        let reports: Vec<_> = counters.iter().map(report).collect();
        times.next(reports.iter().map(|(id, report)| (*id, report))).get("mail").copied()
    }

    // shows: hazard CL12
    #[test]
    fn counters_of_new_and_restarted_processes_are_beginnings() {
        let times = &mut HandlerTimes::default();
        assert_eq!(added(times, &[("a", 1_000, 9_000)]), None);
        assert_eq!(added(times, &[("a", 1_010, 9_500), ("b", 77, 1)]), Some(Handled { count: 10, ms: 500 }));
        assert_eq!(added(times, &[("a", 1_011, 9_520), ("b", 79, 31)]), Some(Handled { count: 3, ms: 50 }));
        assert_eq!(added(times, &[("a", 0, 0)]), None);
        assert_eq!(added(times, &[("a", u64::MAX, 1)]), Some(Handled { count: u64::MAX, ms: 1 }));
    }
}
