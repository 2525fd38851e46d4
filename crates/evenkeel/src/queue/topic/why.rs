//! [`Why`]: the reason why a job is where it is.

use super::Topic;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{End, ErrorNote, Job, JobId};
use evenkeel_protocol::queue::steps::{
    JobPosition, PREVIEW_BYTES_MAX, PUT_OFF_MS, Preview, ReadPosition, Shard, State,
};
use std::fmt;
use std::time::Duration;

/// Why a job is where it is. Its `Display` form is one sentence.
///
/// Guaranteed: the reason follows from one atomic read of the job's shard and, where rows decide about the job, a read of its row just
/// after that. Not guaranteed: the process that runs a job, and how many slots its consumers have, which the store does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// A newer program wrote the record, or something else has overwritten it.
    Unreadable,
    /// The job is due beyond the horizon, so it exists only as a row.
    InSql {
        /// When it is due, in ms since 1970.
        due_at: u64,
    },
    /// The row of the job is live, and the store does not have the job (yet, or any more). The sweep of a program restores it.
    NotRestored {
        /// When it is due, in ms since 1970.
        due_at: u64,
    },
    /// Never enqueued here, or forgotten: a job with a generated id leaves nothing behind when it is done.
    Unknown,
    /// It has ended.
    Ended {
        /// How.
        end: End,
        /// When, in ms since 1970, if that is known.
        at: Option<u64>,
    },
    /// It is a dead letter.
    Dead {
        /// The time of death, in ms since 1970.
        at: u64,
        /// The number of failed attempts.
        errors: u16,
        /// The beginning of the last error.
        error: String,
    },
    /// Its lease has expired: its worker has stopped, hangs, or cannot reach the store.
    Silent {
        /// How long ago the lease expired, in ms.
        for_ms: u64,
        /// The number of workers that could rescue it.
        workers: u64,
    },
    /// Its handler runs.
    Running {
        /// The time since the claim, in ms.
        for_ms: u64,
    },
    /// A worker has claimed it, and has not reported a start.
    Claimed {
        /// The time since the claim, in ms.
        for_ms: u64,
    },
    /// It failed, and the delay before its next attempt is not over.
    Retrying {
        /// The number of the next attempt.
        attempt: u32,
        /// The time until that, in ms.
        in_ms: u64,
        /// The beginning of the last error.
        error: String,
    },
    /// It is not due.
    NotDue {
        /// The time until it is, in ms.
        in_ms: u64,
    },
    /// It is too late to start: the next claim ends it as expired.
    Expired,
    /// The topic is paused.
    Paused {
        /// The time until the pause ends, in ms; `None`: it is paused until resumed.
        in_ms: Option<u64>,
    },
    /// It is due, and no consumer has called in the last minute.
    NoConsumer,
    /// It crashed its worker before, so a consumer runs only a few such jobs at once.
    Suspect {
        /// How strongly it is suspected: consecutive crashes, plus one for two consecutive expired leases.
        level: u16,
    },
    /// It is due, and other due jobs are claimed before it.
    Behind {
        /// The number of these jobs.
        jobs: u64,
    },
    /// It is the first: a free consumer claims it now.
    Next,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = |ms: &u64| Duration::from_millis(*ms);
        match self {
            Self::Unreadable => {
                write!(f, "its record cannot be read; was it written by a newer program? Update this one")
            }
            Self::InSql { .. } => write!(f, "it is kept in SQL until its due time is within the horizon"),
            Self::NotRestored { .. } => {
                write!(
                    f,
                    "its row is live, but Redis does not have it; the sweep of a program that consumes the topic restores it"
                )
            }
            Self::Unknown => write!(f, "it was never enqueued here, or it has ended and is forgotten"),
            Self::Ended { end, .. } => write!(f, "it has ended: {}", ended_as(*end)),
            Self::Dead { errors, error, .. } => {
                write!(f, "it is a dead letter after {errors} failed attempts: {error}; redrive or delete it")
            }
            Self::Silent { for_ms, workers: 0 } => {
                write!(f, "its lease expired {:?} ago, and no consumer is running that could rescue it", span(for_ms))
            }
            Self::Silent { for_ms, .. } => {
                write!(f, "its lease expired {:?} ago; a consumer rescues it within 5 s", span(for_ms))
            }
            Self::Running { for_ms } => write!(f, "it has been running for {:?}", span(for_ms)),
            Self::Claimed { for_ms } => write!(f, "a worker claimed it {:?} ago and has not started it", span(for_ms)),
            Self::Retrying { attempt, in_ms, error } => {
                write!(f, "attempt {attempt} starts in {:?}, after: {error}", span(in_ms))
            }
            Self::NotDue { in_ms } => write!(f, "it is due in {:?}", span(in_ms)),
            Self::Expired => write!(f, "it is too late to start; the next claim ends it as expired"),
            Self::Paused { in_ms: None } => write!(f, "the topic is paused until it is resumed"),
            Self::Paused { in_ms: Some(ms) } => write!(f, "the topic is paused for another {:?}", span(ms)),
            Self::NoConsumer => write!(f, "it is due, and no consumer is running"),
            Self::Suspect { .. } => {
                write!(f, "it crashed its worker before, and waits until a consumer has room for such a job")
            }
            Self::Behind { jobs } => write!(f, "{jobs} due jobs are before it, and no slot is free for it yet"),
            Self::Next => {
                write!(f, "a free consumer claims it now; if it stays here for 5 s, see the log of the consumers")
            }
        }
    }
}

fn ended_as(end: End) -> &'static str {
    match end {
        End::Done => "done",
        End::Expired => "too late to start",
        End::Discarded => "discarded after its last attempt",
        End::Deleted => "deleted",
        End::Revoked => "revoked",
        End::RevokedAfterLeaseExpiry => "revoked after its lease had expired",
    }
}

impl Why {
    /// The reason that follows from what a shard says.
    #[must_use]
    pub fn of(position: &JobPosition) -> Self {
        match &position.job {
            None => Self::Unknown,
            Some(Preview::Unreadable(_)) => Self::Unreadable,
            Some(Preview::Ended(completion)) => Self::Ended { end: completion.end, at: Some(completion.ended_at) },
            Some(Preview::Live { state: State::Dead, score, job, .. }) => {
                Self::Dead { at: *score, errors: job.errors, error: last_error(job) }
            }
            Some(Preview::Live { state: State::Leased, score, job, .. }) => Self::of_leased(position, *score, job),
            Some(Preview::Live { state: State::Waiting(_), score, job, .. }) => Self::of_waiting(position, *score, job),
        }
    }

    fn of_leased(position: &JobPosition, deadline: u64, job: &Job) -> Self {
        if deadline <= position.lease_now {
            return Self::Silent { for_ms: position.lease_now - deadline, workers: position.workers };
        }
        // A delivery's fence is the time of its claim in us, unless SQL had a higher fence.
        let for_ms = position.now.saturating_sub(job.fence / 1_000);
        if job.started { Self::Running { for_ms } } else { Self::Claimed { for_ms } }
    }

    fn of_waiting(position: &JobPosition, due: u64, job: &Job) -> Self {
        let level = job.suspicion();
        // A claim delays a suspect for which the worker has no free slot.
        let is_put_off = level > 0 && due <= position.now.saturating_add(PUT_OFF_MS) && position.workers > 0;
        if due > position.now && !(is_put_off && position.paused_until.is_none()) {
            let in_ms = due - position.now;
            return match job.errors {
                0 => Self::NotDue { in_ms },
                errors => Self::Retrying { attempt: u32::from(errors) + 1, in_ms, error: last_error(job) },
            };
        }
        if job.expires_at.is_some_and(|expires_at| position.now > expires_at) {
            return Self::Expired;
        }
        match (position.paused_until, position.workers, level, position.before) {
            (Some(u64::MAX), ..) => Self::Paused { in_ms: None },
            (Some(until), ..) => Self::Paused { in_ms: Some(until.saturating_sub(position.now)) },
            (None, 0, ..) => Self::NoConsumer,
            (None, _, 1.., _) => Self::Suspect { level },
            (None, _, 0, 1..) => Self::Behind { jobs: position.before },
            (None, _, 0, 0) => Self::Next,
        }
    }
}

fn last_error(job: &Job) -> String {
    let text = |error: &ErrorNote| String::from_utf8_lossy(&error.text).into_owned();
    job.error_notes().last().map_or_else(|| "no error was noted".to_owned(), text)
}

impl Topic {
    /// Why a job is where it is: why it does not run, or what has become of it.
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`]. [`QueueError::NeedsDatabase`] if Redis does not have the job and rows may have it.
    pub async fn why(&self, id: JobId) -> Result<Why, QueueError> {
        let ask = |shard: Shard, ids: Vec<JobId>| async move {
            let mut answers = Vec::with_capacity(ids.len());
            for id in ids {
                answers.push(self.store.run(&shard, &ReadPosition { id, bytes: PREVIEW_BYTES_MAX }).await?);
            }
            Ok(answers)
        };
        let position = self.router.route(&[id], |id| *id, ask, |position| position.job.is_none()).await?.pop();
        let why = position.as_ref().map_or(Why::Unknown, Why::of);
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            return rows.why(id, why).await;
        }
        if why == Why::Unknown {
            self.check_rows()?;
        }
        Ok(why)
    }
}

#[cfg(test)]
mod tests {
    use super::Why;
    use bytes::Bytes;
    use evenkeel_protocol::queue::job::{CompletionRecord, End, ErrorClass, ErrorNote, Job, JobSpec, Note, Priority};
    use evenkeel_protocol::queue::steps::{JobPosition, Preview, State};

    const NOW: u64 = 1_000_000;
    const WAITS: State = State::Waiting(Priority::Normal);

    fn job() -> Job {
        Job::accepted(JobSpec::new(Bytes::new()), NOW - 500, NOW)
    }

    fn failed(errors: u16) -> Job {
        let error = ErrorNote { at: NOW, class: ErrorClass::Failed, attempt: errors, text: "smtp refused".into() };
        let spec = JobSpec { notes: vec![Note::Error(error)], ..JobSpec::new(Bytes::new()) };
        Job { errors, spec, ..job() }
    }

    fn position(state: State, score: u64, job: Job) -> JobPosition {
        let job = Some(Preview::Live { state, score, job: Box::new(job), body_bytes: 0 });
        JobPosition { now: NOW, lease_now: NOW + 7, paused_until: None, workers: 2, before: 0, job }
    }

    fn waiting(score: u64, job: Job) -> JobPosition {
        position(WAITS, score, job)
    }

    /// Each row of the table, and that the first one that holds is the answer.
    // shows: queue::Why
    #[test]
    fn reason_is_the_first_one_that_holds() {
        let completion = CompletionRecord { end: End::Done, until: None, version: 0, ended_at: 5 };
        let started = Job { started: true, fence: (NOW - 40) * 1_000, ..job() };
        let claimed = Job { started: false, ..started.clone() };
        let suspect = Job { crashes: 2, ..job() };
        let late = Job { expires_at: Some(NOW - 1), ..job() };
        let paused = |until| JobPosition { paused_until: Some(until), workers: 0, ..waiting(NOW, suspect.clone()) };
        let ended = JobPosition { job: Some(Preview::Ended(completion)), ..waiting(NOW, job()) };
        let dead = Why::Dead { at: 9, errors: 6, error: "smtp refused".to_owned() };
        let retrying = Why::Retrying { attempt: 3, in_ms: 30, error: "smtp refused".to_owned() };
        let behind = JobPosition { before: 1_911, ..waiting(NOW, job()) };
        let cases = [
            (JobPosition { job: None, ..waiting(NOW, job()) }, Why::Unknown),
            (ended, Why::Ended { end: End::Done, at: Some(5) }),
            (position(State::Dead, 9, failed(6)), dead),
            (position(State::Leased, NOW + 7, started.clone()), Why::Silent { for_ms: 0, workers: 2 }),
            (position(State::Leased, NOW + 8, started), Why::Running { for_ms: 40 }),
            (position(State::Leased, NOW + 8, claimed), Why::Claimed { for_ms: 40 }),
            (waiting(NOW + 30, failed(2)), retrying),
            (waiting(NOW + 30, job()), Why::NotDue { in_ms: 30 }),
            (JobPosition { workers: 0, ..waiting(NOW, late) }, Why::Expired),
            (paused(u64::MAX), Why::Paused { in_ms: None }),
            (paused(NOW + 3), Why::Paused { in_ms: Some(3) }),
            (JobPosition { workers: 0, ..waiting(NOW, suspect.clone()) }, Why::NoConsumer),
            (waiting(NOW, suspect.clone()), Why::Suspect { level: 2 }),
            (waiting(NOW + 100, suspect.clone()), Why::Suspect { level: 2 }),
            (waiting(NOW + 101, suspect), Why::NotDue { in_ms: 101 }),
            (behind, Why::Behind { jobs: 1_911 }),
            (waiting(NOW, job()), Why::Next),
        ];
        for (position, why) in cases {
            assert_eq!(Why::of(&position), why, "{position:?}");
        }
    }

    #[test]
    fn reasons_are_sentences_with_what_to_do() {
        let dead = Why::Dead { at: 9, errors: 6, error: "smtp refused".to_owned() };
        assert_eq!(dead.to_string(), "it is a dead letter after 6 failed attempts: smtp refused; redrive or delete it");
        let silent = |workers| Why::Silent { for_ms: 1_500, workers }.to_string();
        assert_eq!(silent(3), "its lease expired 1.5s ago; a consumer rescues it within 5 s");
        assert_eq!(silent(0), "its lease expired 1.5s ago, and no consumer is running that could rescue it");
        assert_eq!(Why::Behind { jobs: 2 }.to_string(), "2 due jobs are before it, and no slot is free for it yet");
    }
}
