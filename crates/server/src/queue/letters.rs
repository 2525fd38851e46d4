//! Dead letters of a topic in groups by error: what is shown, and which letters an action takes.
//!
//! An action names its letters by a group and by [`Bounds`], the ends of what was read. A letter that dies later is above them, and one that
//! was not read is below them, whatever others have redriven or deleted meanwhile: an action, and each repeat of it, takes letters that were
//! shown, and no others.

use super::jobs::names::class_text;
use crate::output::{printable, truncated};
use evenkeel::clock::Clock;
use evenkeel::queue::topic::{JobState, Page, Preview, PreviewPage, Previewed, Seen, Topic};
use evenkeel::queue::{JobId, Listed, QueueError};
use std::collections::BTreeMap;
use std::time::Duration;

/// What one reading shows at most.
pub(crate) const SHOWN_MAX: usize = 10_000;
/// Letters that an action takes at most.
const TAKEN_MAX: usize = 1_000_000;
const TIME_MAX: Duration = Duration::from_secs(2);
/// A page of previews reads at most 4 MiB.
const PAGE: usize = 500;
/// A page of whole letters.
const WHOLE: usize = 100;
/// Letters that are listed next to the groups.
const FIRST: usize = 20;
/// An action that takes letters beyond what was shown pauses this many times as long as each of its reads took.
const PAUSES: u32 = 3;

/// How groups are named. Whatever is derived from the text of an error tells it, so a visitor who may not see errors sees their classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    Text,
    Class,
}

/// Between which letters an action looks for those of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The oldest letter; `None`: all older ones, too.
    pub(crate) from: Option<Listed>,
    /// Letters that died until this time, in ms since 1970.
    pub(crate) until: u64,
}

/// What was read.
pub(crate) struct Read {
    /// The number of letters of each group.
    pub(crate) groups: BTreeMap<String, usize>,
    /// The newest letters.
    pub(crate) first: Vec<Previewed>,
    pub(crate) read: usize,
    /// There are more, which are older.
    pub(crate) is_cut: bool,
    pub(crate) bounds: Bounds,
}

impl Naming {
    /// The group of a letter; `None` if it is no longer one.
    fn group(self, letter: &Previewed) -> Option<String> {
        let job = match &letter.preview {
            Preview::Live { job, .. } => job,
            Preview::Unreadable(_) => return Some("written by a newer program".to_owned()),
            Preview::Ended(_) => return None,
        };
        let last = job.error_notes().last();
        Some(last.map_or_else(
            || "no error".to_owned(),
            |error| match self {
                Self::Text => fingerprint(&printable(&error.text)),
                Self::Class => class_text(error.class).to_owned(),
            },
        ))
    }
}

/// Letters of one group.
pub(crate) struct OfGroup {
    pub(crate) letters: Vec<Previewed>,
    pub(crate) read: usize,
    /// Where to go on; `None`: all were read.
    pub(crate) next: Option<Listed>,
}

/// Reads the newest dead letters, at most `limit`.
pub(crate) async fn read(topic: &Topic, naming: Naming, limit: usize) -> Result<Read, QueueError> {
    let (clock, bounds) = (Clock::system(), Bounds { from: None, until: topic.now_ms() });
    let mut read = Read { groups: BTreeMap::new(), first: Vec::new(), read: 0, is_cut: false, bounds };
    let (start, mut before) = (clock.now(), None);
    loop {
        let page = topic.previews(JobState::Dead, before, PAGE.min(limit - read.read)).await?;
        before = page.next;
        read.add(naming, page);
        if before.is_none() {
            return Ok(read);
        }
        if read.read >= limit || clock.now().since(start) >= TIME_MAX {
            read.is_cut = true;
            return Ok(read);
        }
    }
}

impl Read {
    fn add(&mut self, naming: Naming, page: PreviewPage) {
        for letter in page.jobs {
            let Some(group) = naming.group(&letter) else { continue };
            // The newest one is the upper end: the clock of this process may be ahead of Redis's, which a letter dies by.
            if self.read == 0 {
                self.bounds.until = letter.listed.score;
            }
            self.bounds.from = Some(letter.listed);
            self.read += 1;
            *self.groups.entry(group).or_default() += 1;
            if self.first.len() < FIRST {
                self.first.push(letter);
            }
        }
    }
}

/// A page of the letters of a group, newest first: as many as are found among the next 10,000 letters or within 2 s, and about `limit`.
pub(crate) async fn of_group(
    topic: &Topic,
    (naming, group): (Naming, &str),
    before: Option<Listed>,
    limit: usize,
) -> Result<OfGroup, QueueError> {
    let clock = Clock::system();
    let (start, mut found) = (clock.now(), OfGroup { letters: Vec::new(), read: 0, next: before });
    loop {
        let page = topic.previews(JobState::Dead, found.next, PAGE).await?;
        found.read += page.jobs.len();
        found.next = page.next;
        for letter in page.jobs {
            if naming.group(&letter).is_some_and(|name| name == group) {
                found.letters.push(letter);
            }
        }
        if found.letters.len() > limit {
            found.letters.truncate(limit);
            found.next = found.letters.last().map(|letter| letter.listed);
        }
        let is_full = found.letters.len() == limit || found.read >= SHOWN_MAX || clock.now().since(start) >= TIME_MAX;
        if found.next.is_none() || is_full {
            return Ok(found);
        }
    }
}

/// A page of the letters whose last error contains `text`, oldest first: as many as are found among the next letters, and `limit` at most.
pub(crate) async fn with_error(
    topic: &Topic,
    text: &str,
    after: Option<Listed>,
    limit: usize,
) -> Result<Page, QueueError> {
    let has = |seen: &Seen| {
        let last = seen.job.as_ref().ok().and_then(|job| job.error_notes().last());
        last.is_some_and(|error| String::from_utf8_lossy(&error.text).contains(text))
    };
    let mut found = Page { jobs: Vec::new(), next: after };
    loop {
        let page = topic.peek(JobState::Dead, found.next, WHOLE).await?;
        found.next = page.next;
        for seen in page.jobs.into_iter().filter(has) {
            if found.jobs.len() == limit {
                found.next = found.jobs.last().map(|last: &Seen| Listed { score: last.score, id: last.id });
                return Ok(found);
            }
            found.jobs.push(seen);
        }
        if found.next.is_none() || found.jobs.len() == limit {
            return Ok(found);
        }
    }
}

/// The letters of a group within the bounds, oldest first. `go_on` is called with the number of letters that were read; once it is false, the
/// reading ends with `None`.
pub(crate) async fn select(
    topic: &Topic,
    (naming, group): (Naming, &str),
    bounds: Bounds,
    mut go_on: impl FnMut(usize) -> bool,
) -> Result<Option<Vec<JobId>>, QueueError> {
    let (clock, mut read, mut ids) = (Clock::system(), 0, Vec::new());
    // Letters that died at `until` itself count.
    let mut before = Some(Listed { score: bounds.until.saturating_add(1), id: JobId([0; 16]) });
    let is_within = |listed: &Listed| bounds.from.is_none_or(|from| (listed.score, listed.id) >= (from.score, from.id));
    while let Some(from) = before {
        let called = clock.now();
        let page = topic.previews(JobState::Dead, Some(from), PAGE).await?;
        let took = clock.now().since(called);
        read += page.jobs.len();
        before = page.next.filter(is_within);
        let within = page.jobs.iter().filter(|letter| is_within(&letter.listed));
        let taken = within.filter(|letter| naming.group(letter).is_some_and(|name| name == group));
        ids.extend(taken.map(|letter| letter.listed.id));
        ids.truncate(TAKEN_MAX);
        if !go_on(read) {
            return Ok(None);
        }
        if ids.len() == TAKEN_MAX {
            break;
        }
        if bounds.from.is_none() && before.is_some() {
            clock.sleep(took * PAUSES).await;
        }
    }
    ids.reverse();
    Ok(Some(ids))
}

/// An error without what differs between jobs: numbers, addresses and times, hexadecimal ids of at least eight digits, and parts of words with at
/// least three digits and nothing else (`receipt-1129`, `user=4711`; not `UTF-8`).
pub(crate) fn fingerprint(error: &str) -> String {
    let words = error.split_whitespace().map(|word| {
        let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let has_digit = core.bytes().any(|byte| byte.is_ascii_digit());
        let is_number = core.chars().all(|c| !c.is_alphabetic() || matches!(c, 'T' | 'Z'));
        let is_id = core.len() >= 8 && core.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if has_digit && (is_number || is_id) { word.replace(core, "NUMBER") } else { without_numbers(word) }
    });
    let text = truncated(&words.collect::<Vec<_>>().join(" "), 120);
    if text.is_empty() { "no message".to_owned() } else { text }
}

/// A word with `NUMBER` for each part of at least three digits and nothing else.
fn without_numbers(word: &str) -> String {
    let is_number = |part: &str| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = word.split_inclusive(|c: char| !c.is_alphanumeric()).map(|part| {
        let number = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        if is_number(number) { part.replace(number, "NUMBER") } else { part.to_owned() }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    // shows: hazard CL17
    #[test]
    fn errors_that_differ_in_numbers_are_one_group() {
        assert_eq!(fingerprint("smtp refused 451 for job 0192f3aa-0b1c"), "smtp refused NUMBER for job NUMBER");
        assert_eq!(fingerprint("timeout after 30 s (attempt 2)"), "timeout after NUMBER s (attempt NUMBER)");
        assert_eq!(fingerprint("no receipt-1129 of user=4711, in UTF-8"), "no receipt-NUMBER of user=NUMBER, in UTF-8");
        assert_eq!(fingerprint("10.0.0.1:6379 since 2026-11-28T14:29:18.6Z"), "NUMBER since NUMBER");
        assert_eq!(
            (fingerprint("v2 of ü-1290.5"), fingerprint("sku/17")),
            ("v2 of ü-NUMBER".to_owned(), "sku/17".to_owned())
        );
        assert_eq!((fingerprint(""), fingerprint("bad feed")), ("no message".to_owned(), "bad feed".to_owned()));
    }
}
