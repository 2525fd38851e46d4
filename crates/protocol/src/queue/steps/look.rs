//! What operators read without reading bodies: [`Preview`], [`JobPosition`], [`Kept`].

use super::{Found, Looked, State};
use crate::queue::job::{CompletionRecord, Job, Note};
use crate::queue::record::Unreadable;
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::support::guard;

/// A job with the first bytes of its body. Of its notes it has the caller's own id and the newest error, with as many bytes of text each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    /// It has not ended.
    Live {
        /// Its state.
        state: State,
        /// Due time, deadline on the lease clock, or time of death.
        score: u64,
        /// The job, with the first bytes of its body.
        job: Box<Job>,
        /// The length of the whole body.
        body_bytes: u64,
    },
    /// It has ended and has a completion record.
    Ended(CompletionRecord),
    /// Its record was written in a format that this program does not support.
    Unreadable(Unreadable),
}

impl Preview {
    /// The preview of a job that was read whole.
    #[must_use]
    pub fn of(looked: Looked, bytes: usize) -> Option<Self> {
        match looked {
            Ok(None) => None,
            Ok(Some(Found::Ended(completion))) => Some(Self::Ended(completion)),
            Ok(Some(Found::Live { state, score, mut job })) => {
                let body_bytes = u64::try_from(job.spec.body.len()).unwrap_or(u64::MAX);
                if guard("model_preview_cut") {
                    job.spec.body = cut(&job.spec.body, bytes);
                }
                job.spec.notes = short_notes(&job, bytes);
                Some(Self::Live { state, score, job, body_bytes })
            }
            Err(unreadable) => Some(Self::Unreadable(unreadable)),
        }
    }
}

/// The caller's own id and the newest error.
fn short_notes(job: &Job, bytes: usize) -> Vec<Note> {
    let name = job.spec.notes.iter().rev().find_map(|note| match note {
        Note::Name(name) => Some(Note::Name(cut(name, bytes))),
        _ => None,
    });
    let error = job.error_notes().last().map(|error| {
        let text = cut(&error.text, bytes);
        Note::Error(crate::queue::job::ErrorNote { text, ..error.clone() })
    });
    name.into_iter().chain(error).collect()
}

/// A copy, so that the whole body is not kept in memory.
fn cut(bytes: &Bytes, most: usize) -> Bytes {
    if bytes.len() <= most { bytes.clone() } else { Bytes::copy_from_slice(&bytes[..most]) }
}

/// Everything in a shard that decides about the next delivery of a job, from one atomic read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPosition {
    /// The server's time.
    pub now: u64,
    /// The same on the lease clock.
    pub lease_now: u64,
    /// The end of a pause; `u64::MAX`: paused until resumed.
    pub paused_until: Option<u64>,
    /// Workers that sent a call within the last minute.
    pub workers: u64,
    /// Due jobs that are claimed before this one, if it is due.
    pub before: u64,
    /// The job; `None`: it is not known here.
    pub job: Option<Preview>,
}

/// The call of a worker whose reply is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its sequence.
    pub sequence: u64,
    /// Its token, with which the call is repeated.
    pub token: Token,
}
