//! Bounds a report: what does not fit into it is left out, and counted.

use super::report::ProcessReport;
use super::steps::REPORT_BYTES_MAX;

/// The most items of each list.
pub const ITEMS_MAX: usize = 100;
/// The most characters of a name. A longer one ends in `…`.
const NAME_CHARS_MAX: usize = 128;

impl ProcessReport {
    /// The report as JSON of at most [`REPORT_BYTES_MAX`] bytes. While it is larger, the longest lists are halved.
    #[must_use]
    pub fn fitted(mut self) -> String {
        let mut longest = ITEMS_MAX;
        self.for_each_name(shorten);
        loop {
            self.cut(longest);
            // A report consists of text and numbers, which JSON can represent.
            let text = serde_json::to_string(&self).unwrap_or_default();
            if text.len() <= REPORT_BYTES_MAX || longest == 0 {
                return text;
            }
            longest /= 2;
        }
    }

    /// Leaves out the items of each list after the first `items`.
    fn cut(&mut self, items: usize) {
        let left_out = cut(&mut self.caches, items)
            + cut(&mut self.consumers, items)
            + cut(&mut self.jobs, items)
            + cut(&mut self.stream_consumers, items)
            + cut(&mut self.locks, items)
            + cut(&mut self.schedules, items)
            + cut(&mut self.relays, items);
        self.left_out = self.left_out.saturating_add(left_out);
    }

    fn for_each_name(&mut self, change: fn(&mut String)) {
        [&mut self.host, &mut self.version].into_iter().for_each(change);
        self.caches.iter_mut().for_each(|cache| change(&mut cache.cache));
        self.consumers.iter_mut().for_each(|consumer| change(&mut consumer.topic));
        self.jobs.iter_mut().flat_map(|job| [&mut job.topic, &mut job.id]).for_each(change);
        let consumers = self.stream_consumers.iter_mut();
        consumers.flat_map(|consumer| [&mut consumer.stream, &mut consumer.group]).for_each(change);
        self.locks.iter_mut().for_each(|lock| change(&mut lock.lock));
        let schedules = self.schedules.iter_mut();
        schedules
            .flat_map(|schedule| [&mut schedule.topic, &mut schedule.schedule, &mut schedule.cron])
            .for_each(change);
        let relays = self.relays.iter_mut();
        relays.flat_map(|relay| [Some(&mut relay.database), relay.outbox.as_mut()]).flatten().for_each(change);
    }
}

fn cut<T>(list: &mut Vec<T>, items: usize) -> u64 {
    let left_out = list.len().saturating_sub(items);
    list.truncate(items);
    left_out as u64
}

fn shorten(name: &mut String) {
    if let Some((end, _)) = name.char_indices().nth(NAME_CHARS_MAX) {
        name.truncate(end);
        name.push('…');
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::*;
    use crate::process::report::{CacheReport, JobReport, LockReport};

    fn locks(count: usize, name: &str) -> Vec<LockReport> {
        vec![LockReport { lock: name.to_owned(), fence: u64::MAX, since_ms: u64::MAX }; count]
    }

    // shows: P3
    #[test]
    fn largest_report_fits_and_counts_what_it_leaves_out() {
        let caches = vec![CacheReport { cache: "user".to_owned(), ..CacheReport::default() }; 5];
        let jobs = vec![JobReport { topic: "t".repeat(64), id: "0".repeat(32), ..JobReport::default() }; 5_000];
        let report = ProcessReport { caches, jobs, locks: locks(5_000, &"\u{1}".repeat(512)), ..Default::default() };
        let text = report.fitted();
        assert!(text.len() <= REPORT_BYTES_MAX, "{}", text.len());
        let read: ProcessReport = serde_json::from_str(&text).unwrap();
        assert_eq!(read.caches.len(), 5, "the short list is whole");
        assert_eq!(read.left_out, 10_000 - (read.jobs.len() + read.locks.len()) as u64);
        assert!(read.jobs.len() > 5 && read.locks.len() > 5, "{} {}", read.jobs.len(), read.locks.len());
    }

    #[test]
    fn small_report_is_whole() {
        let report = ProcessReport { locks: locks(ITEMS_MAX, "a"), epoch: Some(3), ..Default::default() };
        let read: ProcessReport = serde_json::from_str(&report.clone().fitted()).unwrap();
        assert_eq!(read, report);
    }

    #[test]
    fn long_name_ends_in_an_ellipsis() {
        let report = ProcessReport { locks: locks(1, &"é".repeat(200)), ..Default::default() };
        let read: ProcessReport = serde_json::from_str(&report.fitted()).unwrap();
        assert_eq!(read.locks[0].lock, format!("{}…", "é".repeat(NAME_CHARS_MAX)));
    }

    #[test]
    fn report_of_another_version_is_read() {
        let read: ProcessReport =
            serde_json::from_str(r#"{"pid": 7, "new": [1], "caches": [{"cache": "a", "x": {}}]}"#).unwrap();
        assert_eq!((read.pid, read.caches[0].cache.as_str(), read.jobs.len()), (7, "a", 0));
    }
}
