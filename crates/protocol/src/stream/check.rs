//! The limits that several steps check before anything is sent, on every backend.

use super::error::StreamError;
use super::steps::{ITEMS_MAX, KEY_BYTES_MAX, RECORD_BYTES_MAX, SPAN_MS_MAX};
use super::tries::NOTE_BYTES_MAX;
use evenkeel_link::support::guard;

pub(crate) type Checked = Result<(), StreamError>;

/// A number of items within the limit.
pub(crate) fn items(items: usize) -> Checked {
    if items > ITEMS_MAX { Err(StreamError::TooMany { items, limit: ITEMS_MAX }) } else { Ok(()) }
}

/// A page of at least one item: to Redis a count of zero means no limit.
pub(crate) fn page(limit: usize) -> Checked {
    if limit == 0 && guard("stream_count_zero") {
        return Err(StreamError::Invalid(format!("a page or a read of no entry; request 1 to {ITEMS_MAX} entries")));
    }
    items(limit)
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

pub(crate) fn lease(lease_ms: u64) -> Checked {
    ensure(lease_ms > 0, "a lease of 0 ms; choose 1 ms to a hundred years")?;
    span(lease_ms)
}

pub(crate) fn span(ms: u64) -> Checked {
    ensure(ms <= SPAN_MS_MAX, "a duration is longer than a hundred years, the limit; is it in milliseconds?")
}

pub(crate) fn text(bytes: &[u8]) -> Checked {
    ensure(bytes.len() <= NOTE_BYTES_MAX, "the text of an error has more than 1,000 bytes; cut it")
}

pub(crate) fn ensure(holds: bool, otherwise: &str) -> Checked {
    if holds { Ok(()) } else { Err(StreamError::Invalid(otherwise.to_owned())) }
}
