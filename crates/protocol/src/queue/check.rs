//! Checks of a step's arguments before anything is sent, the same for every backend.

use super::error::QueueError;
use super::job::{JobSpec, Note, Retention, TIME_MS_MAX};
use super::steps::{
    Heartbeat, ITEMS_MAX, NewJob, Outcome, PIECE_BYTES_MAX, PREVIEW_BYTES_MAX, Put, PutChange, Redrive, Reschedule,
    SettleAndClaim, State, Tick, When,
};
use crate::past::in_seconds;

/// The maximum length of a text or header block next to a body.
pub const NOTE_BYTES_MAX: usize = 60_000;

type Checked = Result<(), QueueError>;

pub(crate) fn items(items: usize) -> Checked {
    if items > ITEMS_MAX { Err(QueueError::TooMany { items, limit: ITEMS_MAX }) } else { Ok(()) }
}

/// Checks jobs to be enqueued.
pub fn new_jobs(jobs: &[NewJob]) -> Checked {
    items(jobs.len())?;
    jobs.iter().try_for_each(|job| {
        ensure(job.spec.version.is_none(), "a job with a version must be `put`, not enqueued")?;
        due(job.when)?;
        spec(&job.spec)
    })
}

pub(crate) fn puts(puts: &[Put]) -> Checked {
    items(puts.len())?;
    puts.iter().try_for_each(|put| {
        ensure(put.version > 0, "the version of a `put` must be at least 1; 0 is the version of enqueued jobs")?;
        match &put.change {
            PutChange::Withdraw(retention) => window(*retention),
            PutChange::Job(when, job) => {
                ensure(
                    job.unique.is_none(),
                    "a `put` is identified by its id and version; it cannot have a unique key",
                )?;
                moment(*when)?;
                spec(job)
            }
            PutChange::Restored(restored) => {
                let takes_no_key = "a `put` is identified by its id and version; it cannot have a unique key";
                ensure(restored.spec.unique.is_none(), takes_no_key)?;
                span(restored.at)?;
                spec(&restored.spec)
            }
        }
    })
}

pub(crate) fn tick(tick: &Tick) -> Checked {
    items(tick.jobs.len())?;
    span(tick.last)?;
    tick.jobs.iter().try_for_each(|job| {
        ensure(
            job.spec.version.is_none() && job.spec.unique.is_none(),
            "a tick cannot have a version or a unique key",
        )?;
        moment(job.when)?;
        spec(&job.spec)
    })
}

pub(crate) fn settle_and_claim(call: &SettleAndClaim) -> Checked {
    items(call.settlements.len() + call.limit)?;
    ensure(call.sequence > 0, "sequence numbers begin at 1")?;
    span(call.lease_ms)?;
    call.settlements.iter().try_for_each(|(_, outcome)| settlement(outcome))
}

/// Checks a worker's outcome of a delivery.
pub fn settlement(outcome: &Outcome) -> Checked {
    match outcome {
        Outcome::Failed { retry_ms, error } => span(*retry_ms).and_then(|()| text(error)),
        Outcome::Snoozed { after_ms } => span(*after_ms),
        Outcome::Dead { reason } => text(reason),
        Outcome::Done | Outcome::Released => Ok(()),
    }
}

pub(crate) fn heartbeat(heartbeat: &Heartbeat) -> Checked {
    items(heartbeat.deliveries.len())?;
    span(heartbeat.lease_ms)
}

pub(crate) fn progress(progress: &[u8]) -> Checked {
    text(progress)
}

pub(crate) fn piece(bytes: u64) -> Checked {
    ensure((1..=PIECE_BYTES_MAX).contains(&bytes), "a piece of a record must have between 1 byte and 1 MiB")
}

pub(crate) fn list(limit: usize) -> Checked {
    items(limit)?;
    ensure(limit > 0, "a page must have at least one entry")
}

pub(crate) fn previews(ids: usize, bytes: usize) -> Checked {
    items(ids)?;
    ensure(bytes <= PREVIEW_BYTES_MAX, "a preview has at most 2 KiB of a body; read the job for more")
}

pub(crate) fn reschedules(changes: &[Reschedule]) -> Checked {
    items(changes.len())?;
    changes.iter().filter_map(|change| change.when).try_for_each(due)
}

pub(crate) fn redrive(call: &Redrive) -> Checked {
    items(call.ids.len())?;
    text(&call.filter)?;
    span(call.delay_ms)
}

pub(crate) fn purge(state: State, limit: usize) -> Checked {
    items(limit)?;
    ensure(state != State::Leased, "running jobs cannot be purged; pause the topic and wait until their leases end")
}

fn spec(spec: &JobSpec) -> Checked {
    span(spec.late_ms_max.unwrap_or(0))?;
    if let Some(unique) = spec.unique {
        span(unique.window_ms)?;
        ensure(unique.window_ms > 0, "the window of a unique key must be at least 1 ms")?;
    }
    window(spec.retention)?;
    spec.notes.iter().try_for_each(|note| match note {
        Note::Error(error) => text(&error.text),
        Note::Trace(bytes) | Note::Headers(bytes) | Note::Name(bytes) | Note::Progress(bytes) => text(bytes),
        Note::Redriven { .. } => Ok(()),
        Note::RetryDelay(delay) => span(delay.ms_max()),
    })
}

fn window(retention: Retention) -> Checked {
    match retention {
        Retention::AfterEnd(window) | Retention::FromEnqueue(window) => span(window),
        Retention::Nothing | Retention::UntilForgotten => Ok(()),
    }
}

/// A due time that a caller gives. Stored ones are not rejected.
fn due(when: When) -> Checked {
    if let When::At(ms) = when
        && let Some(reason) = in_seconds(ms)
    {
        return Err(QueueError::Invalid(reason));
    }
    moment(when)
}

fn moment(when: When) -> Checked {
    let (When::At(ms) | When::In(ms)) = when;
    span(ms)
}

fn span(ms: u64) -> Checked {
    ensure(ms <= TIME_MS_MAX / 4, "a time or duration is longer than a thousand years; is it in milliseconds?")
}

fn text(bytes: &[u8]) -> Checked {
    ensure(bytes.len() <= NOTE_BYTES_MAX, "a text or header block of a job is longer than 60,000 bytes")
}

fn ensure(holds: bool, otherwise: &str) -> Checked {
    if holds { Ok(()) } else { Err(QueueError::Invalid(otherwise.to_owned())) }
}
