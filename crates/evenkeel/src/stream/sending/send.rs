//! Sends entries to their partitions, each once.

use super::producers::Producer;
use crate::stream::base::Base;
use crate::stream::stream::Core;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Backoff, guard, in_groups, ms};
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::partition_of;
use evenkeel_protocol::stream::steps::{self, Append, ITEMS_MAX, NewEntry, Sequenced};
use std::time::Duration;

/// How often a call without a reply is made.
const ATTEMPTS: u32 = 8;
const AGAIN: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_millis(500) };
/// The most bytes of one call.
pub(crate) const CALL_BYTES_MAX: usize = 4 << 20;

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The number of its partition.
    pub partition: u16,
    /// Its id; `None` if an earlier call appended it and later ones have followed.
    pub id: Option<EntryId>,
    /// Whether this call appended it; `false` if an earlier call with its number did.
    pub is_new: bool,
}

/// Appends entries; returns their results in order.
pub(crate) async fn send<T>(
    core: &Core<T>,
    entries: Vec<NewEntry>,
) -> Result<Vec<Result<Appended, StreamError>>, StreamError> {
    let count = core.base.record.partitions;
    let mut parts: Vec<Vec<(usize, NewEntry)>> = (0..count).map(|_| Vec::new()).collect();
    let mut results: Vec<Option<Result<Appended, StreamError>>> = entries.iter().map(|_| None).collect();
    for (place, entry) in entries.into_iter().enumerate() {
        parts[usize::from(partition_of(&entry.key, count))].push((place, entry));
    }
    let parts = (0..count).zip(parts).filter(|(_, part)| !part.is_empty());
    let sent = parts.map(|(partition, part)| send_part(core, partition, part));
    let sent = in_groups(core.base.store.together_max(), sent).await;
    for part in sent {
        for (place, result) in part? {
            results[place] = Some(result);
        }
    }
    Ok(results.into_iter().flatten().collect())
}

type Placed = Vec<(usize, Result<Appended, StreamError>)>;

/// Appends the entries of one partition, in calls of a limited size, one after the other.
async fn send_part<T>(core: &Core<T>, partition: u16, part: Vec<(usize, NewEntry)>) -> Result<Placed, StreamError> {
    let mut results = Vec::with_capacity(part.len());
    let mut rest = part.into_iter().peekable();
    while rest.peek().is_some() {
        let (mut places, mut entries, mut bytes) = (Vec::new(), Vec::new(), 0);
        while let Some((_, next)) = rest.peek()
            && entries.len() < ITEMS_MAX
            && (entries.is_empty() || bytes + next.record.len() <= CALL_BYTES_MAX)
            && let Some((place, entry)) = rest.next()
        {
            bytes += entry.record.len();
            places.push(place);
            entries.push(entry);
        }
        results.extend(places.into_iter().zip(call(core, partition, entries).await?));
    }
    Ok(results)
}

/// One call: entries without a number get those of a producer of this process.
async fn call<T>(
    core: &Core<T>,
    partition: u16,
    mut entries: Vec<NewEntry>,
) -> Result<Vec<Result<Appended, StreamError>>, StreamError> {
    let producers = &core.producers[usize::from(partition)];
    let mut producer = producers.take();
    let is_ours: Vec<bool> = entries.iter().map(|entry| entry.sequenced.is_none()).collect();
    for entry in entries.iter_mut().filter(|entry| entry.sequenced.is_none()) {
        entry.sequenced = Some(next_of(&mut producer));
    }
    let share = core.settings.entries_max.map(|max| max.div_ceil(u64::from(core.base.record.partitions)));
    let append = Append { entries, entries_max: share, producer_window_ms: ms(core.settings.producer_window) };
    let replies = until_answered(&core.base, partition, &append).await?;
    let is_whole =
        replies.iter().all(|reply| matches!(reply, steps::Appended::Appended(_) | steps::Appended::Duplicate(_)));
    if is_whole {
        producers.keep(producer);
    }
    let stream = || core.base.name.to_string();
    let result = |(reply, is_ours): (steps::Appended, bool)| {
        core.metrics.appended(reply);
        let appended = |id, is_new| Ok(Appended { partition, id, is_new });
        match reply {
            steps::Appended::Appended(id) => appended(Some(id), true),
            // Our own numbers are used once: an earlier attempt of this call has appended it.
            steps::Appended::Duplicate(id) => appended(id, is_ours),
            // Those that follow one for which there was no room have no predecessor.
            steps::Appended::OutOfOrder { .. } if is_ours => Err(StreamError::Full { stream: stream() }),
            steps::Appended::OutOfOrder { last } => Err(StreamError::OutOfOrder { stream: stream(), last }),
            steps::Appended::Full => Err(StreamError::Full { stream: stream() }),
        }
    };
    Ok(replies.into_iter().zip(is_ours).map(result).collect())
}

fn next_of(producer: &mut Producer) -> Sequenced {
    let previous = producer.last;
    producer.last += 1;
    Sequenced { producer: producer.token, sequence: producer.last, previous }
}

/// Repeats a call whose reply was lost, with the same numbers; creates a partition that Redis has lost.
pub(crate) async fn until_answered(
    base: &Base,
    partition: u16,
    append: &Append,
) -> Result<Vec<steps::Appended>, StreamError> {
    let place = &base.partitions[usize::from(partition)];
    let mut attempt = 1;
    // An attempt whose reply was lost may have appended the entries, whatever becomes of those that follow.
    let mut unknown: Option<StreamError> = None;
    loop {
        match base.store.run(place, append).await {
            Ok(Some(replies)) => return Ok(replies),
            Ok(None) if attempt < ATTEMPTS => base.create_again(place).await?,
            Ok(None) => {
                return base
                    .refuse("a partition is missing, although it was created again; does another program remove it?");
            }
            Err(error) => {
                let is_unknown = error.outcome_unknown() || unknown.is_some() && error.is_retryable();
                if error.outcome_unknown() {
                    unknown = Some(error.clone());
                }
                if attempt == ATTEMPTS || !is_unknown || !guard("stream_append_repeated") {
                    return Err(unknown.unwrap_or(error));
                }
                // The system clock, because the pause waits for a server.
                Clock::system().sleep(AGAIN.delay(attempt)).await;
            }
        }
        attempt += 1;
    }
}
