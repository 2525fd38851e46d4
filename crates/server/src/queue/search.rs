//! The search for jobs of one state by what they contain, newest first: in parts, which are bounded.

use evenkeel::clock::Clock;
use evenkeel::queue::topic::{JobState, Page, Seen, Topic};
use evenkeel::queue::{Found, Listed, QueueError};
use futures_util::future::join_all;
use std::time::Duration;

/// What one part reads at most.
const RECORDS_MAX: usize = 10_000;
const BYTES_MAX: usize = 64 << 20;
const TIME_MAX: Duration = Duration::from_secs(2);
/// What one part finds at most.
const FOUND_MAX: usize = 100;
/// What one call should read at most.
const CALL_BYTES: usize = 1 << 20;
const CALL_RECORDS_MAX: usize = 200;
/// After each call the search pauses this many times as long as the call took, so that Redis has most of its time for others.
const PAUSES: u32 = 9;

/// A part of a search.
pub(crate) struct Part {
    pub(crate) found: Vec<Seen>,
    /// The records that were read, and the times of the first and the last.
    pub(crate) read: usize,
    pub(crate) times: Option<(u64, u64)>,
    /// Where to go on; `None`: all were read.
    pub(crate) next: Option<Listed>,
}

/// Searches from `before` on.
pub(crate) async fn part(
    topic: &Topic,
    place: JobState,
    before: Option<Listed>,
    is_match: impl Fn(&Seen) -> bool,
) -> Result<Part, QueueError> {
    let clock = Clock::system();
    let (began, mut bytes, mut size) = (clock.now(), 0, 20);
    let mut part = Part { found: Vec::new(), read: 0, times: None, next: before };
    loop {
        let called = clock.now();
        let page = page(topic, place, part.next, size).await?;
        let took = clock.now().since(called);
        let page_bytes: usize = page.jobs.iter().filter_map(|seen| Some(seen.job.as_ref().ok()?.spec.body.len())).sum();
        for seen in page.jobs {
            part.read += 1;
            let first = part.times.map_or(seen.score, |(first, _)| first);
            part.times = Some((first, seen.score));
            if is_match(&seen) {
                part.found.push(seen);
            }
        }
        part.next = page.next;
        bytes += page_bytes;
        let is_full = part.read >= RECORDS_MAX || bytes >= BYTES_MAX || part.found.len() >= FOUND_MAX;
        let pause = took * PAUSES;
        if part.next.is_none() || is_full || clock.now().since(began) + pause >= TIME_MAX {
            return Ok(part);
        }
        clock.sleep(pause).await;
        size = if page_bytes > CALL_BYTES { size / 2 } else { size * 2 }.clamp(1, CALL_RECORDS_MAX);
    }
}

/// A page of whole jobs, newest first. A job that this program cannot read has no text.
async fn page(topic: &Topic, place: JobState, before: Option<Listed>, limit: usize) -> Result<Page, QueueError> {
    let listed = topic.newest(place, before, limit).await?;
    let next = if listed.len() < limit { None } else { listed.last().copied() };
    let found = join_all(listed.iter().map(|listed| topic.job(listed.id))).await;
    let mut jobs = Vec::with_capacity(found.len());
    for (listed, found) in listed.iter().zip(found) {
        match found {
            Ok(Some(Found::Live { state, score, job })) => {
                jobs.push(Seen { id: listed.id, state, score, job: Ok(job) });
            }
            // It has ended since it was listed.
            Ok(_) | Err(QueueError::NeedsDatabase { .. } | QueueError::Unreadable(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Page { jobs, next })
}
