//! Checks of a step's arguments before anything is sent, the same for every backend.

use super::error::StreamError;
use super::steps::{
    Append, Heartbeat, ITEMS_MAX, KEY_BYTES_MAX, Outcome, RECORD_BYTES_MAX, SEQUENCE_MAX, SPAN_MS_MAX, Settlement,
};
use super::tries::NOTE_BYTES_MAX;
use evenkeel_link::support::guard;

/// The highest fencing token that a program may pass as already seen: it leaves room for higher ones.
const FLOOR_MAX: u64 = 1 << 52;

type Checked = Result<(), StreamError>;

/// A number of items within the limit.
pub(crate) fn items(items: usize) -> Checked {
    if items > ITEMS_MAX { Err(StreamError::TooMany { items, limit: ITEMS_MAX }) } else { Ok(()) }
}

/// A page of at least one item: to Redis a count of zero means no limit.
pub(crate) fn page(limit: usize) -> Checked {
    if guard("stream_count_zero") {
        ensure(limit > 0, "a page or a read must have at least one entry")?;
    }
    items(limit)
}

/// Checks entries before they are appended.
///
/// # Errors
/// [`StreamError::TooMany`], [`StreamError::TooLarge`] or [`StreamError::Invalid`].
pub fn append(call: &Append) -> Checked {
    items(call.entries.len())?;
    span(call.producer_window_ms)?;
    call.entries.iter().try_for_each(|entry| {
        sizes(&entry.key, &entry.record)?;
        entry.sequenced.map_or(Ok(()), |by| {
            let in_order = by.previous < by.sequence && by.sequence <= SEQUENCE_MAX;
            ensure(in_order, "the sequences of a producer begin at 1, increase, and end at 2^53 - 1")
        })
    })
}

/// Checks the size of an entry.
///
/// # Errors
/// [`StreamError::TooLarge`], or [`StreamError::Invalid`] for its key.
pub fn sizes(key: &[u8], record: &[u8]) -> Checked {
    let (bytes, limit) = (record.len(), RECORD_BYTES_MAX);
    if bytes > limit {
        return Err(StreamError::TooLarge { bytes, limit });
    }
    if key.len() > KEY_BYTES_MAX {
        let bytes = key.len();
        return Err(StreamError::Invalid(format!(
            "the key of an entry has {bytes} bytes; the limit is {KEY_BYTES_MAX}; use a hash of it"
        )));
    }
    Ok(())
}

pub(crate) fn join(lease_ms: u64, fence_floor: u64) -> Checked {
    lease(lease_ms)?;
    ensure(fence_floor <= FLOOR_MAX, "a fencing token above 2^52 leaves no room for higher ones")
}

pub(crate) fn lease(lease_ms: u64) -> Checked {
    ensure(lease_ms > 0, "a lease must last at least 1 ms")?;
    span(lease_ms)
}

pub(crate) fn settle(settlements: &[Settlement]) -> Checked {
    items(settlements.len())?;
    settlements.iter().try_for_each(|settlement| match &settlement.outcome {
        Outcome::Done => Ok(()),
        Outcome::Snooze { delay_ms } => span(*delay_ms),
        Outcome::Retry { delay_ms, error } => span(*delay_ms).and_then(|()| text(error)),
        Outcome::Dead { reason, .. } => text(reason),
    })
}

pub(crate) fn heartbeat(lease_ms: u64, heartbeats: &[Heartbeat]) -> Checked {
    lease(lease_ms)?;
    items(heartbeats.len())
}

pub(crate) fn span(ms: u64) -> Checked {
    ensure(ms <= SPAN_MS_MAX, "a duration is longer than a hundred years; is it in milliseconds?")
}

fn text(bytes: &[u8]) -> Checked {
    ensure(bytes.len() <= NOTE_BYTES_MAX, "the text of an error has more than 1,000 bytes; cut it")
}

fn ensure(holds: bool, otherwise: &str) -> Checked {
    if holds { Ok(()) } else { Err(StreamError::Invalid(otherwise.to_owned())) }
}
