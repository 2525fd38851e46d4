//! Dead letters of all partitions: pages by filter, and replay or removal of any number.

use super::{DeadLetter, DeadLetters, Each, Rejection, Replayed, kept, possible};
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::ITEMS_MAX;
use std::fmt;
use std::str::FromStr;

/// Letters that one call of [`DeadLetters::page`] reads at most.
const READ_MAX: usize = 10_000;
/// Letters of one read: their values are read, too.
const PAGE: usize = 100;

/// Names a dead letter among those of its group: its partition and its id there, as text `0:1700000000000-0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LetterId {
    /// The number of the partition, from 0.
    pub partition: u16,
    /// The id in that partition.
    pub id: EntryId,
}

impl fmt::Display for LetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.partition, self.id)
    }
}

impl FromStr for LetterId {
    type Err = StreamError;

    fn from_str(text: &str) -> Result<Self, StreamError> {
        let read = || {
            let (partition, id) = text.split_once(':')?;
            Some(Self { partition: partition.parse().ok()?, id: id.parse().ok()? })
        };
        let invalid = || format!("{text:?} is not the id of a dead letter; it has the form 0:1700000000000-0");
        read().ok_or_else(|| StreamError::Invalid(invalid()))
    }
}

/// Which dead letters; each field that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterFilter {
    /// The reason contains this text.
    pub error_contains: Option<String>,
    /// The encoded value contains this text.
    pub value_contains: Option<String>,
    /// The key.
    pub key: Option<bytes::Bytes>,
    /// They died at this time or later, in ms since 1970.
    pub died_from: Option<u64>,
    /// They died at this time or earlier, in ms since 1970.
    pub died_until: Option<u64>,
}

/// A page of dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterPage {
    /// The letters, by partition, then oldest first.
    pub letters: Vec<(LetterId, DeadLetter)>,
    /// Pass it on for the next page; `None`: there are no more.
    pub next: Option<LetterId>,
    /// The partitions whose calls Redis rejects: their letters are on no page.
    pub rejected: Vec<Rejection<StreamError>>,
}

impl LetterFilter {
    /// Whether the letter matches.
    #[must_use]
    pub fn matches(&self, letter: &DeadLetter) -> bool {
        let contains = |bytes: &[u8], text: &String| {
            text.is_empty() || bytes.windows(text.len()).any(|window| window == text.as_bytes())
        };
        let reason = letter.tries.as_ref().and_then(|tries| tries.notes.last()).map(|note| note.text.clone());
        self.error_contains.as_ref().is_none_or(|text| contains(&reason.unwrap_or_default(), text))
            && self.key.as_ref().is_none_or(|key| *key == letter.key)
            && self.died_from.is_none_or(|from| letter.id.ms >= from)
            && self.died_until.is_none_or(|until| letter.id.ms <= until)
            && self
                .value_contains
                .as_ref()
                .is_none_or(|text| contains(&DeadLetters::value_of(letter).unwrap_or_default(), text))
    }
}

impl DeadLetters {
    /// A page of up to 500 matching dead letters of all partitions, after this one. A call reads at most 10,000 letters, so a page may have
    /// fewer than `limit`, or none, although there are more. A partition that Redis rejects stops no other, see [`LetterPage::rejected`].
    ///
    /// # Errors
    /// [`StreamError::Invalid`]: the limit is 0 or above 500, or no dead letter can have the id `after`; [`StreamError::Link`]: Redis is
    /// unavailable.
    pub async fn page(
        &self,
        filter: &LetterFilter,
        after: Option<LetterId>,
        limit: usize,
    ) -> Result<LetterPage, StreamError> {
        if !(1..=ITEMS_MAX).contains(&limit) {
            return Err(StreamError::Invalid(format!("a page has 1 to {ITEMS_MAX} dead letters, not {limit}")));
        }
        let (first, mut from) = after.map_or((0, EntryId::MIN), |after| (after.partition, after.id));
        possible(from)?;
        let (mut page, mut read) = (LetterPage::default(), 0);
        for partition in first..self.admin.partitions() {
            loop {
                let listed = self.list(partition, from, PAGE).await;
                let Some(letters) = kept(&mut page.rejected, partition, listed)? else { break };
                let is_last = letters.len() < PAGE;
                for letter in letters {
                    let at = LetterId { partition, id: letter.id };
                    (from, read) = (letter.id, read + 1);
                    if filter.matches(&letter) {
                        page.letters.push((at, letter));
                    }
                    if page.letters.len() == limit || read == READ_MAX {
                        page.next = Some(at);
                        return Ok(page);
                    }
                }
                if is_last {
                    break;
                }
            }
            from = EntryId::MIN;
        }
        Ok(page)
    }

    /// [`replay`](Self::replay) of any number of letters of any partitions; one result for each, in order. The letters of a partition are
    /// appended in the order of the call.
    ///
    /// # Errors
    /// As [`replay`](Self::replay). If a letter names a partition that the stream does not have, nothing was changed.
    /// [`StreamError::Partly`]: some were replayed; a repeated call returns [`Replayed::Unknown`] for them.
    pub async fn replay_all(&self, letters: &[LetterId]) -> Result<Vec<Replayed>, StreamError> {
        self.expect_partitions(letters)?;
        let mut results = vec![Replayed::Unknown; letters.len()];
        let mut each = Each::of("dead letters", letters.len());
        let is_done = |replayed: &&Replayed| matches!(replayed, Replayed::Appended(_));
        for (partition, places, ids) in by_partition(letters) {
            let replayed = self.replay(partition, &ids).await;
            let replayed = each.note(replayed, |replayed| replayed.iter().filter(is_done).count())?;
            places.into_iter().zip(replayed.into_iter().flatten()).for_each(|(place, result)| results[place] = result);
        }
        each.finish().map(|()| results)
    }

    /// [`remove`](Self::remove) of any number of letters of any partitions; for each whether it existed, in order.
    ///
    /// # Errors
    /// As [`remove`](Self::remove). If a letter names a partition that the stream does not have, nothing was changed.
    /// [`StreamError::Partly`]: some were removed; a repeated call returns `false` for them.
    pub async fn remove_all(&self, letters: &[LetterId]) -> Result<Vec<bool>, StreamError> {
        self.expect_partitions(letters)?;
        let mut results = vec![false; letters.len()];
        let mut each = Each::of("dead letters", letters.len());
        for (partition, places, ids) in by_partition(letters) {
            let removed = self.remove(partition, &ids).await;
            let removed = each.note(removed, |removed| removed.iter().filter(|existed| **existed).count())?;
            places.into_iter().zip(removed.into_iter().flatten()).for_each(|(place, existed)| results[place] = existed);
        }
        each.finish().map(|()| results)
    }

    /// Before anything is changed: an error in the middle would not say which letters were.
    fn expect_partitions(&self, letters: &[LetterId]) -> Result<(), StreamError> {
        for letter in letters.iter().filter(|_| guard("stream_letters_checked_first")) {
            self.admin.partition(letter.partition)?;
        }
        Ok(())
    }
}

/// The letters as calls: partition, places in the request, ids.
fn by_partition(letters: &[LetterId]) -> Vec<(u16, Vec<usize>, Vec<EntryId>)> {
    let mut calls: Vec<(u16, Vec<usize>, Vec<EntryId>)> = Vec::new();
    for (place, letter) in letters.iter().enumerate() {
        let open =
            calls.iter_mut().rev().find(|(partition, ids, _)| *partition == letter.partition && ids.len() < ITEMS_MAX);
        match open {
            Some((_, places, ids)) => {
                places.push(place);
                ids.push(letter.id);
            }
            None => calls.push((letter.partition, vec![place], vec![letter.id])),
        }
    }
    calls
}
