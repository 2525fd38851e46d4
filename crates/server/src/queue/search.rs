//! The search for jobs of one state by what they contain, newest first: in parts, which are bounded.

use evenkeel::clock::Clock;
use evenkeel::queue::topic::{JobState, Page, Seen, Topic};
use evenkeel::queue::{Listed, QueueError};
use std::time::Duration;

/// What one part reads at most.
const RECORDS_MAX: usize = 10_000;
const BYTES_MAX: usize = 64 << 20;
const TIME_MAX: Duration = Duration::from_secs(2);
/// What one part finds at most.
const FOUND_MAX: usize = 100;
/// Jobs of one call, which has at most 4 MiB of them.
const CALL_RECORDS_MAX: usize = 200;
/// After each call the search pauses this many times as long as the call took, so that Redis has most of its time for others.
const PAUSES: u32 = 9;

/// A part of a search.
pub(crate) struct Part {
    pub(crate) found: Vec<Seen>,
    /// The records that were read, and the times of the first and the last.
    pub(crate) read: usize,
    pub(crate) times: Option<(u64, u64)>,
    bytes: usize,
    /// Where to go on; `None` at its end: all were read.
    pub(crate) next: Option<Listed>,
}

impl Part {
    /// The part from `before` on; nothing is read yet.
    pub(crate) fn new(before: Option<Listed>) -> Self {
        Self { found: Vec::new(), read: 0, times: None, bytes: 0, next: before }
    }

    /// Reads this part. If the future is dropped, the part ends with the call that was answered last.
    pub(crate) async fn search(
        &mut self,
        topic: &Topic,
        place: JobState,
        is_match: impl Fn(&Seen) -> bool,
    ) -> Result<(), QueueError> {
        let clock = Clock::system();
        let began = clock.now();
        loop {
            let called = clock.now();
            let page = topic.scan(place, self.next, CALL_RECORDS_MAX).await?;
            let pause = clock.now().since(called) * PAUSES;
            self.add(page, &is_match);
            if self.next.is_none() || self.is_full() || clock.now().since(began) + pause >= TIME_MAX {
                return Ok(());
            }
            clock.sleep(pause).await;
        }
    }

    /// A job that this program cannot read has no text.
    fn add(&mut self, page: Page, is_match: impl Fn(&Seen) -> bool) {
        for seen in page.jobs {
            self.read += 1;
            self.bytes += seen.job.as_ref().map_or(0, |job| job.spec.body.len());
            let first = self.times.map_or(seen.score, |(first, _)| first);
            self.times = Some((first, seen.score));
            if is_match(&seen) {
                self.found.push(seen);
            }
        }
        self.next = page.next;
    }

    fn is_full(&self) -> bool {
        self.read >= RECORDS_MAX || self.bytes >= BYTES_MAX || self.found.len() >= FOUND_MAX
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{CALL_RECORDS_MAX, Part};
    use evenkeel::Keel;
    use evenkeel::queue::topic::JobState;
    use futures_util::FutureExt;
    use std::time::Duration;

    /// A page of whole jobs was one call for each job.
    // shows: hazard CL20
    #[tokio::test]
    async fn part_that_is_dropped_ends_after_its_last_call() {
        let keel = Keel::memory();
        let mail = keel.queue::<u64>("mail").open().await.unwrap();
        for number in 0..=200 {
            mail.delay(Duration::from_secs(3_600 + number), &number).await.unwrap();
        }
        let topic = keel.topic("mail").await.unwrap();
        let mut part = Part::new(None);
        // It reads one page, and pauses.
        let _ = part.search(&topic, JobState::Waiting, |_| false).now_or_never();
        assert_eq!(part.read, CALL_RECORDS_MAX);
        let mut last = Part::new(part.next);
        last.search(&topic, JobState::Waiting, |seen| seen.job.as_ref().unwrap().spec.body == "0").await.unwrap();
        assert_eq!((last.read, last.found.len(), last.next), (1, 1, None));
    }
}
