//! The limits that several steps check before anything is sent, on every backend.

use super::error::QueueError;
use super::job::{JobSpec, Note, Retention, TIME_MS_MAX};
use super::steps::ITEMS_MAX;

/// The maximum length of a text or header block next to a body.
pub const NOTE_BYTES_MAX: usize = 60_000;

pub(crate) type Checked = Result<(), QueueError>;

pub(crate) fn items(items: usize) -> Checked {
    if items > ITEMS_MAX { Err(QueueError::TooMany { items, limit: ITEMS_MAX }) } else { Ok(()) }
}

pub(crate) fn spec(spec: &JobSpec) -> Checked {
    span(spec.late_ms_max.unwrap_or(0))?;
    if let Some(unique) = spec.unique {
        span(unique.window_ms)?;
        ensure(unique.window_ms > 0, "the window of a unique key is 0 ms; choose 1 ms to a thousand years")?;
    }
    window(spec.retention)?;
    spec.notes.iter().try_for_each(|note| match note {
        Note::Error(error) => text(&error.text),
        Note::Trace(bytes) | Note::Headers(bytes) | Note::Name(bytes) | Note::Progress(bytes) => text(bytes),
        Note::Redriven { .. } => Ok(()),
        Note::RetryDelay(delay) => span(delay.ms_max()),
    })
}

pub(crate) fn window(retention: Retention) -> Checked {
    match retention {
        Retention::AfterEnd(window) | Retention::FromEnqueue(window) => span(window),
        Retention::Nothing | Retention::UntilForgotten => Ok(()),
    }
}

pub(crate) fn span(ms: u64) -> Checked {
    ensure(
        ms <= TIME_MS_MAX / 4,
        "a time or duration is longer than a thousand years, the limit; is it in milliseconds?",
    )
}

pub(crate) fn text(bytes: &[u8]) -> Checked {
    ensure(
        bytes.len() <= NOTE_BYTES_MAX,
        "a text or header block of a job is longer than 60,000 bytes, the limit; put it into the body",
    )
}

pub(crate) fn ensure(holds: bool, otherwise: &str) -> Checked {
    if holds { Ok(()) } else { Err(QueueError::Invalid(otherwise.to_owned())) }
}
