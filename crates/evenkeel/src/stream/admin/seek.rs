//! Moves a group back, to handle entries again, or forward, to skip some.

use super::{Each, GroupStats, Listing, StreamAdmin, possible};
use evenkeel_link::clock::UnixMs;
use evenkeel_link::support::guard;
use evenkeel_protocol::past::in_seconds;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::steps::{Position, ReadLog, ReadStats, Seek};

/// A preview counts up to this many entries of a partition.
const COUNTED_MAX: u64 = 10_000;
/// Entries of a page while they are counted: their values are read, too.
const PAGE: usize = 100;

/// Where a group goes on after a [`seek`](StreamAdmin::seek).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTo {
    /// With the first entry that the log still has.
    Start,
    /// With the next entry that is appended.
    End,
    /// With the first entry that was appended at this time or later, by the server's clock, in ms since 1970.
    Time(UnixMs),
    /// With this entry, in its partition only; with the next one if the log no longer has it.
    Entry {
        /// The number of the partition, from 0.
        partition: u16,
        /// The entry.
        id: EntryId,
    },
}

/// What a seek would do in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeekPreview {
    /// The number of the partition.
    pub partition: u16,
    /// Entries that were delivered and would be delivered again.
    pub again: u64,
    /// Entries that were not delivered and would be skipped.
    pub skipped: u64,
    /// Pending entries, which would be dropped; those after the new position are among `again`.
    pub pending: u64,
    /// Whether there are more than were counted.
    pub is_cut: bool,
}

impl StreamAdmin {
    /// Moves a group: back to handle entries again, or forward to skip some. It cannot move ahead of the server's clock, because entries
    /// until then would never be handled. Its pending entries are dropped, running handlers are canceled.
    /// Dead letters stay, so a seek back to an entry that is a dead letter may add another copy.
    ///
    /// # Errors
    /// [`StreamError::UnknownGroup`]; [`StreamError::Invalid`]: there is no such partition, no entry can have this id, or the goal is in
    /// the future;
    /// [`StreamError::Link`]. [`StreamError::Partly`]: the group was moved in some partitions only; repeat the call.
    pub async fn seek(&self, group: &str, to: SeekTo) -> Result<(), StreamError> {
        let group = GroupName::new(group)?;
        let position = match position(to) {
            None => Position::End,
            Some(after) => Position::After(after),
        };
        let concerned = self.concerned(&group, to).await?;
        let mut each = Each::of("partitions", concerned.len());
        for (_, partition) in concerned {
            let moved = self.base.store.run(partition, &Seek { group: group.clone(), to: position }).await;
            each.note(moved.and_then(|moved| self.found(&group, moved)), |_| 1)?;
        }
        each.finish()
    }

    /// What a [`seek`](Self::seek) would do in each partition, without doing it. It counts at most 10,000 entries of each partition, by reading
    /// them. A partition that Redis rejects stops no other, see [`Listing::rejected`].
    ///
    /// # Errors
    /// [`StreamError::UnknownGroup`]; [`StreamError::Invalid`] as [`seek`](Self::seek); [`StreamError::Link`]: Redis is unavailable. Nothing was
    /// changed.
    pub async fn preview_seek(
        &self,
        group: &str,
        to: SeekTo,
    ) -> Result<Listing<SeekPreview, StreamError>, StreamError> {
        let group = GroupName::new(group)?;
        let mut previews = Listing::default();
        for (number, partition) in self.concerned(&group, to).await? {
            let preview = self.preview(&group, (number, partition), to).await;
            previews.note(format!("partition {number}"), preview, concerns_all)?;
        }
        Ok(previews)
    }

    async fn preview(
        &self,
        group: &GroupName,
        (number, partition): (u16, &Partition),
        to: SeekTo,
    ) -> Result<SeekPreview, StreamError> {
        let stats = self.stats(group, partition).await?;
        let goal = position(to).unwrap_or(stats.tail);
        let (low, high) = (goal.min(stats.position), goal.max(stats.position));
        let (entries, is_cut) = self.count(partition, low, high).await?;
        let (again, skipped) = if goal < stats.position { (entries, 0) } else { (0, entries) };
        Ok(SeekPreview { partition: number, again, skipped, pending: stats.pending, is_cut })
    }

    async fn stats(&self, group: &GroupName, partition: &Partition) -> Result<GroupStats, StreamError> {
        self.found(group, self.base.store.run(partition, &ReadStats { group: group.clone() }).await?)
    }

    /// The partitions that a seek moves. An entry may be ahead of the server's clock, if that was set back; a goal that is also after the last
    /// entry is not accepted.
    async fn concerned(&self, group: &GroupName, to: SeekTo) -> Result<Vec<(u16, &Partition)>, StreamError> {
        let (goal, concerned): (_, Vec<_>) = match to {
            SeekTo::Entry { partition, id } => (possible(id)?.ms, vec![(partition, self.partition(partition)?)]),
            SeekTo::Time(UnixMs(ms)) => (
                in_seconds(ms).map_or(Ok(ms), |reason| Err(StreamError::Invalid(reason)))?,
                (0..self.partitions()).zip(&self.base.partitions).collect(),
            ),
            SeekTo::Start | SeekTo::End => (0, (0..self.partitions()).zip(&self.base.partitions).collect()),
        };
        if goal > self.base.store.now_ms() && guard("stream_seek_not_ahead") {
            for (_, partition) in &concerned {
                let stats = match self.stats(group, partition).await {
                    // It is not moved.
                    Err(error) if !concerns_all(&error) => continue,
                    stats => stats?,
                };
                if goal > stats.tail.ms {
                    return Err(StreamError::Invalid(format!(
                        "a seek cannot go to {goal} ms since 1970, which is in the future: entries until then would never be handled; a seek \
                         to the end skips those there are"
                    )));
                }
            }
        }
        Ok(concerned)
    }

    /// The number of entries after `low`, up to `high`, and whether there are more.
    async fn count(&self, partition: &Partition, low: EntryId, high: EntryId) -> Result<(u64, bool), StreamError> {
        let (mut after, mut counted) = (low, 0);
        while after < high {
            let page = self.base.store.run(partition, &ReadLog { after, limit: PAGE }).await?;
            let inside = page.iter().filter(|entry| entry.id <= high).count();
            if counted + inside as u64 > COUNTED_MAX {
                return Ok((COUNTED_MAX, true));
            }
            counted += inside as u64;
            match page.last() {
                Some(last) if inside == PAGE => after = last.id,
                _ => break,
            }
        }
        Ok((counted, false))
    }
}

/// Whether an error of one partition is one of all.
fn concerns_all(error: &StreamError) -> bool {
    error.is_retryable() || matches!(error, StreamError::UnknownGroup { .. })
}

/// The entry after which the group goes on; `None` for the end.
fn position(to: SeekTo) -> Option<EntryId> {
    match to {
        SeekTo::End => None,
        SeekTo::Start => Some(EntryId::MIN),
        SeekTo::Time(UnixMs(ms)) => Some(EntryId::at(ms).previous()),
        SeekTo::Entry { id, .. } => Some(id.previous()),
    }
}
