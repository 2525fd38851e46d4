//! [`ReadPreviews`]: jobs with the beginning of their bodies.

use super::{Found, Looked};
use crate::queue::job::{CompletionRecord, Job, Note};
use crate::queue::record::{Record, Unreadable};
use crate::queue::steps::prelude::*;
use crate::step::SHARED_BYTES_MAX;
use bytes::Bytes;

/// The maximum size of a body, and of a text, in a preview, so that 500 previews stay below 4 MiB.
pub const PREVIEW_BYTES_MAX: usize = 2 << 10;
/// What a preview has besides a body and two texts.
const AROUND_BYTES: usize = 256;

/// Reads some jobs with the first bytes of their bodies; `None` for an unknown id.
#[derive(Clone, Debug)]
pub struct ReadPreviews {
    /// The jobs.
    pub ids: Vec<JobId>,
    /// The number of bytes of a body and of a text, at most [`PREVIEW_BYTES_MAX`].
    pub bytes: usize,
}

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

impl Step<Shard> for ReadPreviews {
    type Reply = Vec<Option<Preview>>;

    fn check(&self) -> Checked {
        check::items(self.ids.len())?;
        check_bytes(self.bytes)
    }

    fn call(&self, _: &Shard) -> Call {
        let call = Call::function(&scripts::PREVIEWS, Args::default().size(self.bytes).job_ids(&self.ids));
        let size = self.ids.len() * (AROUND_BYTES + 3 * self.bytes);
        if size > SHARED_BYTES_MAX { call.large(u64::try_from(size).unwrap_or(u64::MAX)) } else { call }
    }

    fn reply(&self, value: Value) -> Replied<Vec<Option<Preview>>> {
        array(value)?.into_iter().map(Preview::decode).collect()
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<Option<Preview>>> {
        Ok(self.ids.iter().map(|id| Preview::of(Ok(state.found(now, *id)), self.bytes)).collect())
    }
}

pub(super) fn check_bytes(bytes: usize) -> Checked {
    check::ensure(bytes <= PREVIEW_BYTES_MAX, "a preview has at most 2 KiB of a body; read the job for more")
}

impl Preview {
    pub(super) fn decode(reply: Value) -> Replied<Option<Self>> {
        if reply == Value::Nil {
            return Ok(None);
        }
        let [record, index, score, body_bytes] = wire::parts(reply)?;
        let index = integer(&index)?;
        if index == -2 {
            return Ok(Some(Self::Unreadable(Unreadable::unknown_format())));
        }
        Ok(Some(match Record::decode(&bulk(record)?) {
            Err(unreadable) => Self::Unreadable(unreadable),
            Ok(Record::Ended(completion)) => Self::Ended(completion),
            Ok(Record::Live(job)) => {
                let (state, score, body_bytes) = (State::of_index(index)?, unsigned(&score)?, unsigned(&body_bytes)?);
                Self::Live { state, score, job, body_bytes }
            }
        }))
    }
}
