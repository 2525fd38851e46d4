//! Read-only steps for operators: `list`, `previews`, `position`, `kept`, `stats`.

use super::state::{Index, ShardState};
use crate::queue::job::{JobId, Priority};
use crate::queue::steps::{Found, JobPosition, Kept, Listed, Preview, State, Stats, WORKER_COUNTED_MS, Worker};
use evenkeel_link::support::guard;
use std::ops::Bound;

impl ShardState {
    pub(crate) fn found(&self, now: u64, id: JobId) -> Option<Found> {
        match self.live(id) {
            Some((job, state, score)) => Some(Found::Live { state, score, job: Box::new(job.clone()) }),
            None => self.completion(id, now).map(Found::Ended),
        }
    }

    pub(crate) fn list(&self, state: State, after: Option<Listed>, limit: usize) -> Vec<Listed> {
        let start = after.map_or(Bound::Unbounded, |after| Bound::Excluded((after.score, after.id)));
        self.entries(state).range((start, Bound::Unbounded)).take(limit).map(listed).collect()
    }

    pub(crate) fn newest(&self, state: State, before: Option<Listed>, limit: usize) -> Vec<Listed> {
        let end = before.map_or(Bound::Unbounded, |before| Bound::Excluded((before.score, before.id)));
        self.entries(state).range((Bound::Unbounded, end)).rev().take(limit).map(listed).collect()
    }

    pub(crate) fn preview(&self, now: u64, id: JobId, bytes: usize) -> Option<Preview> {
        Preview::of(Ok(self.found(now, id)), bytes)
    }

    pub(crate) fn position(&self, now: u64, id: JobId, bytes: usize) -> JobPosition {
        let job = self.preview(now, id, bytes);
        let before = match job {
            Some(Preview::Live { state: State::Waiting(priority), score, .. }) if score <= now => {
                let more_urgent = Priority::ALL.iter().filter(|other| **other < priority);
                let due = more_urgent.map(|other| self.due[*other as usize].range(..=(now, LAST)).count());
                due.sum::<usize>() + self.due[priority as usize].range(..(score, id)).count()
            }
            _ => 0,
        };
        JobPosition {
            now,
            lease_now: self.lease_now(now),
            paused_until: self.paused(now),
            workers: self.counted_workers(self.lease_now(now)),
            before: count(before),
            job,
        }
    }

    pub(crate) fn kept(&self, worker: Worker) -> Option<Kept> {
        self.answers.get(&worker).map(|answer| Kept { sequence: answer.sequence, token: answer.token })
    }

    pub(crate) fn stats(&self, now: u64) -> Stats {
        let lease_now = self.lease_now(now);
        Stats {
            now,
            waiting: Priority::ALL.map(|priority| count(self.due[priority as usize].len())),
            ready: count(self.ready(now, usize::MAX)),
            oldest_due: self.earliest(),
            leased: count(self.leased.len()),
            lease_expired: count(self.leased.iter().take_while(|(deadline, _)| *deadline <= lease_now).count()),
            dead: count(self.dead.len()),
            workers: self.counted_workers(lease_now),
            markers: self.markers,
            paused_until: self.paused(now),
            bytes: self.bytes,
            totals: self.totals,
        }
    }

    /// The lease clock, without a change of the state.
    fn lease_now(&self, now: u64) -> u64 {
        now + self.back + self.seen.map_or(0, |seen| seen.saturating_sub(now))
    }

    fn counted_workers(&self, lease_now: u64) -> u64 {
        let is_counted = |seen: u64| seen + WORKER_COUNTED_MS > lease_now || !guard("model_counts_live_workers");
        count(self.workers.values().filter(|seen| is_counted(**seen)).count())
    }

    fn entries(&self, state: State) -> &Index {
        match state {
            State::Waiting(priority) => &self.due[priority as usize],
            State::Leased => &self.leased,
            State::Dead => &self.dead,
        }
    }
}

/// The last id of all.
const LAST: JobId = JobId([u8::MAX; 16]);

fn listed((score, id): &(u64, JobId)) -> Listed {
    Listed { score: *score, id: *id }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
