//! [`Reschedules`]: waiting jobs with another due time or body.

use crate::queue::job::{End, JobSpec};
use crate::queue::record::{codec_flags, named_codec};
use crate::queue::shard::stop;
use crate::queue::steps::When;
use crate::queue::steps::prelude::*;
use bytes::Bytes;

/// Reschedules or edits waiting jobs.
#[derive(Clone, Debug)]
pub struct Reschedules(pub Vec<Reschedule>);

/// Changes the due time of a waiting job, its body, or both.
#[derive(Clone, Debug)]
pub struct Reschedule {
    /// The job.
    pub id: JobId,
    /// The new due time.
    pub when: Option<When>,
    /// The new body.
    pub body: Option<Bytes>,
    /// The codec of the new body, if it is known.
    pub codec: Option<u8>,
}

/// The result of a `reschedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rescheduled {
    /// It waits, with the changes.
    Changed,
    /// The same; a worker whose lease has expired may have begun to run it.
    ChangedAfterLeaseExpiry,
    /// It is running: nothing changed.
    Running,
    /// It is a dead letter: nothing changed.
    Dead,
    /// With the new body the topic would be above its limit of bytes: nothing changed.
    Full,
    /// It had ended before.
    Ended(End),
    /// Never stored, or without a completion record.
    Unknown,
}

impl Reschedule {
    /// Checks the new due time, for callers that do not send the change as a step.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn check(&self) -> Checked {
        self.when.map_or(Ok(()), When::check_given)
    }
}

impl Step<Shard> for Reschedules {
    type Reply = Vec<Rescheduled>;

    fn check(&self) -> Checked {
        check::items(self.0.len())?;
        self.0.iter().try_for_each(Reschedule::check)
    }

    fn call(&self, _: &Shard) -> Call {
        let args = self.0.iter().fold(Args::default(), |args, change| {
            let args = args.bytes(change.id.0);
            let args = match change.when {
                Some(when) => args.when(when),
                None => args.bytes(""),
            };
            match &change.body {
                Some(body) => {
                    let codec = named_codec(change.codec);
                    let body = [codec.as_slice(), body].concat();
                    args.number(codec_flags(change.codec).into()).bytes(body)
                }
                None => args.bytes("").bytes(""),
            }
        });
        Call::function(&scripts::RESCHEDULE, args)
    }

    fn reply(&self, value: Value) -> Replied<Vec<Rescheduled>> {
        let answer = |code: &u8| match code {
            0 => Ok(Rescheduled::Unknown),
            1 => Ok(Rescheduled::Changed),
            2 => Ok(Rescheduled::ChangedAfterLeaseExpiry),
            3 => Ok(Rescheduled::Running),
            4 => Ok(Rescheduled::Dead),
            5 => Ok(Rescheduled::Full),
            code => wire::end(code.wrapping_sub(16)).map(Rescheduled::Ended),
        };
        bulk(value)?.iter().map(answer).collect()
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<Rescheduled>> {
        let lease_now = state.lease_clock(now);
        let answers = self.0.iter().map(|change| state.reschedule_one(now, lease_now, change)).collect();
        state.announce(now);
        Ok(answers)
    }
}

impl ShardState {
    fn reschedule_one(&mut self, now: u64, lease_now: u64, change: &Reschedule) -> Rescheduled {
        let (state, score) = match self.live(change.id) {
            Some((_, State::Dead, _)) => return Rescheduled::Dead,
            Some((_, State::Leased, deadline)) if deadline > lease_now => return Rescheduled::Running,
            Some((_, state, score)) => (state, score),
            None => {
                return self
                    .completion(change.id, now)
                    .map_or(Rescheduled::Unknown, |completion| Rescheduled::Ended(completion.end));
            }
        };
        if let (Some(body), Some((job, _, _))) = (&change.body, self.live(change.id)) {
            let edited = JobSpec { body: body.clone(), codec: change.codec, ..job.spec.clone() };
            if self.is_above_limit(job, edited) {
                return Rescheduled::Full;
            }
        }
        let Some(mut job) = self.take(change.id) else { return Rescheduled::Unknown };
        job.lease_expired |= job.token.is_some();
        let due = match (change.when, state) {
            (Some(when), _) => when.at(now).max(now),
            (None, State::Waiting(_)) => score,
            (None, _) => now,
        };
        stop(&mut job);
        if change.when.is_some() {
            job.expires_at = job.spec.late_ms_max.map(|late| due + late);
        }
        if let Some(body) = &change.body {
            job.spec.body = body.clone();
            if guard("model_edit_names_codec") {
                job.spec.codec = change.codec;
            }
        }
        let lease_expired = job.lease_expired;
        self.wait(change.id, job, due);
        if lease_expired { Rescheduled::ChangedAfterLeaseExpiry } else { Rescheduled::Changed }
    }
}
