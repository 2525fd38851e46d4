//! The search for a text in the bodies and errors of one place: bounded, one at a time, and continued where it stopped.

use super::rows::{body, error_text};
use crate::console::app::App;
use crate::console::rights::{Action, Visitor};
use crate::console::source::queue_problem;
use evenkeel::clock::Clock;
use evenkeel::queue::topic::{JobState, Page, Seen, Topic};
use evenkeel::queue::{Found, Listed, QueueError};
use futures_util::future::join_all;
use std::time::Duration;
use web::Problem;

/// What one request reads at most.
const RECORDS_MAX: usize = 10_000;
const BYTES_MAX: usize = 64 << 20;
const TIME_MAX: Duration = Duration::from_secs(2);
/// What one request shows at most.
const FOUND_MAX: usize = 100;
/// What one call should read at most.
const CALL_BYTES: usize = 1 << 20;
const CALL_RECORDS_MAX: usize = 200;
/// After each call the search pauses this many times as long as the call took, so that Redis has most of its time for others.
const PAUSES: u32 = 9;

/// What a search found.
pub(in crate::console::pages) struct Search {
    pub(in crate::console::pages) found: Vec<Seen>,
    /// The records that this request read, and the times of the first and the last.
    pub(in crate::console::pages) read: usize,
    pub(in crate::console::pages) times: Option<(u64, u64)>,
    /// Where to go on; `None`: all were read.
    pub(in crate::console::pages) next: Option<Listed>,
}

/// Searches from `before` on, newest first, what this visitor may see.
pub(in crate::console::pages) async fn text(
    app: &App,
    visitor: &Visitor,
    topic: &Topic,
    place: JobState,
    before: Option<Listed>,
    text: &str,
) -> Result<Search, Problem> {
    let _one = app.source.searches.begin(visitor.may(Action::Redrive)).await?;
    let clock = Clock::system();
    let (began, mut bytes, mut size) = (clock.now(), 0, 20);
    let mut search = Search { found: Vec::new(), read: 0, times: None, next: before };
    loop {
        let called = clock.now();
        let page = page(topic, place, search.next, size).await.map_err(queue_problem)?;
        let took = clock.now().since(called);
        let page_bytes: usize = page.jobs.iter().filter_map(|seen| Some(seen.job.as_ref().ok()?.spec.body.len())).sum();
        for seen in page.jobs {
            search.read += 1;
            let first = search.times.map_or(seen.score, |(first, _)| first);
            search.times = Some((first, seen.score));
            if has(app, visitor, topic.name(), &seen, text) {
                search.found.push(seen);
            }
        }
        search.next = page.next;
        bytes += page_bytes;
        let is_full = search.read >= RECORDS_MAX || bytes >= BYTES_MAX || search.found.len() >= FOUND_MAX;
        let pause = took * PAUSES;
        if search.next.is_none() || is_full || clock.now().since(began) + pause >= TIME_MAX {
            return Ok(search);
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

/// Whether what this visitor sees of a job has the text. A hit in a hidden field would tell what it hides.
fn has(app: &App, visitor: &Visitor, topic: &str, seen: &Seen, text: &str) -> bool {
    let Ok(job) = &seen.job else { return false };
    body(app, visitor, topic, job).contains(text)
        || job.error_notes().any(|error| error_text(visitor, &error.text, error.class).contains(text))
}
