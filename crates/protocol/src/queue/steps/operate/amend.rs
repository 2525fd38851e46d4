//! [`Amend`]: a dead letter with another body.

use crate::queue::job::{End, JobSpec};
use crate::queue::record::{codec_flags, named_codec};
use crate::queue::steps::prelude::*;
use bytes::Bytes;

/// Replaces the body of a dead letter, if it is still the one that the caller has seen.
#[derive(Clone, Debug)]
pub struct Amend {
    /// The dead letter.
    pub id: JobId,
    /// The body that the caller has seen: another one is not replaced.
    pub seen: Bytes,
    /// The new body.
    pub body: Bytes,
    /// The codec of the new body, if it is known.
    pub codec: Option<u8>,
}

/// The result of an `amend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amended {
    /// It has the new body.
    Changed,
    /// Its body is not the one that the caller has seen: nothing changed. Read it again.
    Other,
    /// It waits or runs: nothing changed. `reschedule` edits a waiting job.
    NotDead,
    /// With the new body the topic would be above its limit of bytes: nothing changed.
    Full,
    /// It had ended before.
    Ended(End),
    /// Never stored, or without a completion record.
    Unknown,
}

impl Step<Shard> for Amend {
    type Reply = Amended;

    fn call(&self, _: &Shard) -> Call {
        let name = named_codec(self.codec);
        let args = Args::default().bytes(self.id.0).number(codec_flags(self.codec).into()).bytes(name.as_slice());
        Call::function(&scripts::AMEND, args.bytes(&self.seen).bytes(&self.body))
    }

    fn reply(&self, value: Value) -> Replied<Amended> {
        Ok(match wire::count(&value)? {
            0 => Amended::Unknown,
            1 => Amended::Changed,
            2 => Amended::Other,
            3 => Amended::NotDead,
            4 => Amended::Full,
            code => {
                let end = code.checked_sub(16).and_then(|code| u8::try_from(code).ok()).and_then(End::from_code);
                Amended::Ended(end.ok_or_else(|| wire::unexpected("amend"))?)
            }
        })
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Amended> {
        Ok(state.amend(now, self))
    }
}

impl ShardState {
    fn amend(&mut self, now: u64, amend: &Amend) -> Amended {
        let (job, state, score) = match self.live(amend.id) {
            Some((_, state, _)) if state != State::Dead && guard("model_amend_dead") => return Amended::NotDead,
            Some(found) => found,
            None => {
                return self
                    .completion(amend.id, now)
                    .map_or(Amended::Unknown, |completion| Amended::Ended(completion.end));
            }
        };
        if job.spec.body == amend.body && job.spec.codec == amend.codec {
            return Amended::Changed;
        }
        if job.spec.body != amend.seen && guard("model_amend_seen") {
            return Amended::Other;
        }
        let amended = JobSpec { body: amend.body.clone(), codec: amend.codec, ..job.spec.clone() };
        if self.is_above_limit(job, amended) {
            return Amended::Full;
        }
        let Some(mut job) = self.take(amend.id) else { return Amended::Unknown };
        (job.spec.body, job.spec.codec) = (amend.body.clone(), amend.codec);
        self.place(amend.id, job, state, score);
        Amended::Changed
    }
}
