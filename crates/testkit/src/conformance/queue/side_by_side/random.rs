//! Random calls that meet often: few ids, few workers, times near the limits that matter.

use super::Move;
use bytes::Bytes;
use evenkeel::Token;
use evenkeel::queue::JobId;
use evenkeel_protocol::queue::job::{
    ErrorClass, ErrorNote, JobSpec, Note, Priority, Retention, Retries, Unique, UniqueKey,
};
use evenkeel_protocol::queue::steps::{
    Amend, Claimed, Delete, Enqueue, Forget, Heartbeat, Limits, List, Listed, NewJob, Outcome, Pause, PopMarker, Purge,
    Put, PutChange, Puts, ReadJobs, ReadKept, ReadPosition, ReadPreviews, ReadSomeJobs, ReadStats, Receipt, Redrive,
    Report, Reschedule, Reschedules, Rescue, Restored, Resume, Revoke, Room, SetLimits, SettleAndClaim, State, Tick,
    When, Worker,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const IDS: u8 = 12;
const WORKERS: usize = 3;
/// Completion records and keys also expire on Redis's own clock, which continues while the tests' clock is frozen: never
/// within a test.
const WINDOW_MS_MIN: u64 = 600_000;
/// Receipts retained; the older ones are stale most of the time, which is the point.
const RECEIPTS: usize = 24;
/// Calls of workers retained.
const CALLS: usize = 10;
/// A clock is not set back further than the model's memory of expired completion records.
const SET_BACK_MS_MAX: u64 = 1_200_000;

/// Every id there can be.
pub(super) fn ids() -> impl Iterator<Item = JobId> {
    (0..IDS).map(|number| JobId([number; 16]))
}

/// Makes calls from a seed.
pub(super) struct Generator {
    rng: StdRng,
    now: u64,
    latest: u64,
    receipts: Vec<Receipt>,
    sequences: [u64; WORKERS],
    /// The latest calls of all workers, to be sent again; one that was overtaken is stale.
    calls: Vec<SettleAndClaim>,
    version: u64,
    redrives: u8,
    /// The last tick of each schedule.
    ticks: [Option<u64>; 2],
    /// Markers are being taken.
    pops: bool,
}

impl Generator {
    pub(super) fn new(seed: u64, now: u64) -> Self {
        let rng = StdRng::seed_from_u64(seed);
        Self {
            rng,
            now,
            latest: now,
            receipts: Vec::new(),
            sequences: [0; WORKERS],
            calls: Vec::new(),
            version: 0,
            redrives: 0,
            ticks: [None; 2],
            pops: false,
        }
    }

    /// Retains deliveries, to settle them later, or too late.
    pub(super) fn learn(&mut self, claimed: &Claimed) {
        self.receipts.extend(claimed.deliveries.iter().map(|delivered| delivered.receipt));
        let excess = self.receipts.len().saturating_sub(RECEIPTS);
        self.receipts.drain(..excess);
    }

    pub(super) fn next(&mut self) -> Move {
        // One after the other, so that the last one is taken, too.
        self.pops &= self.rng.random_bool(0.85);
        if self.pops {
            return Move::step(PopMarker);
        }
        match self.rng.random_range(0..100) {
            0..14 => self.advance(),
            14 => self.set_back(),
            15..33 => Move::step(Enqueue(self.many(3, Self::new_job))),
            33..37 => Move::step(Puts(self.many(2, Self::put))),
            37 => Move::step(self.tick()),
            38..62 => Move::step(self.settle()),
            62..68 => Move::step(self.heartbeat()),
            68..72 => Move::step(Revoke(self.many(2, Self::id))),
            72..76 => Move::step(Reschedules(self.many(2, Self::reschedule))),
            76..82 => Move::step(self.rescue()),
            82..86 => Move::step(self.redrive()),
            86 => Move::step(Forget(self.many(3, Self::id))),
            87 => Move::step(Delete(self.many(2, Self::id))),
            88 => Move::step(self.purge()),
            89 => Move::step(self.pause()),
            90..92 => Move::step(Resume),
            92 => Move::step(SetLimits(self.limits())),
            93..95 => Move::step(ReadJobs(vec![self.id()])),
            95..97 => Move::step(self.list()),
            98 => self.look(),
            97 => {
                self.pops = true;
                Move::step(PopMarker)
            }
            _ => Move::step(ReadStats),
        }
    }

    fn advance(&mut self) -> Move {
        let longest = *self.pick(&[10, 1_000, 1_000, 5_000, 31_000, 700_000]);
        let ms = self.rng.random_range(0..=longest);
        self.now += ms;
        self.latest = self.latest.max(self.now);
        Move::Advance(ms)
    }

    fn set_back(&mut self) -> Move {
        let ms = self.rng.random_range(0..60_000);
        if self.latest - self.now + ms > SET_BACK_MS_MAX {
            return self.advance();
        }
        self.now -= ms;
        Move::SetBack(ms)
    }

    fn new_job(&mut self) -> NewJob {
        let unique = self.rng.random_bool(0.2).then(|| Unique {
            key: UniqueKey([self.rng.random_range(0..3); 16]),
            window_ms: WINDOW_MS_MIN + self.rng.random_range(0..1_000),
        });
        NewJob { id: self.id(), when: self.when(), spec: JobSpec { unique, ..self.spec() } }
    }

    fn put(&mut self) -> Put {
        self.version += self.rng.random_range(0..2);
        let version = (self.version + 1).saturating_sub(self.rng.random_range(0..3)).max(1);
        let change = if self.rng.random_bool(0.3) {
            PutChange::Withdraw(self.retention())
        } else if self.rng.random_bool(0.3) {
            PutChange::Restored(Box::new(self.restored()))
        } else {
            PutChange::Job(self.when(), Box::new(self.spec()))
        };
        Put { id: self.id(), version, change }
    }

    /// A job that waits has not used more attempts than it has.
    fn restored(&mut self) -> Restored {
        let mut spec = self.spec();
        let most = if let Retries::Limited(retries) = spec.retries { retries } else { 5 };
        let errors = self.rng.random_range(0..=most);
        let error = ErrorNote { at: self.now, class: ErrorClass::Failed, attempt: errors, text: self.bytes(20) };
        spec.notes.extend((errors > 0).then_some(Note::Error(error)));
        Restored { spec, errors, is_dead: self.rng.random_bool(0.5), at: self.now + self.rng.random_range(0..2_000) }
    }

    /// Of one of two schedules; now and then from a process that has slept.
    fn tick(&mut self) -> Tick {
        let schedule = self.rng.random_range(0..2);
        let known = self.ticks[schedule];
        let seen = if self.rng.random_bool(0.8) { known } else { self.rng.random_bool(0.5).then_some(self.now) };
        let last = self.now + self.rng.random_range(0..5_000);
        if seen == known {
            self.ticks[schedule] = Some(last);
        }
        let jobs = self.many(2, |this| NewJob { id: this.id(), when: this.when(), spec: this.spec() });
        Tick { schedule: [u8::try_from(schedule).unwrap_or(0); 16], seen, last, jobs }
    }

    fn spec(&mut self) -> JobSpec {
        let retries = [Retries::Limited(0), Retries::Limited(1), Retries::Limited(3), Retries::Unlimited];
        let notes = [Note::Trace(self.bytes(30)), Note::Headers(self.bytes(30)), Note::Name(self.bytes(20))];
        let noted = if self.rng.random_bool(0.3) { self.rng.random_range(0..3) } else { 0 };
        JobSpec {
            priority: *self.pick(&Priority::ALL),
            retries: *self.pick(&retries),
            discard_exhausted: self.rng.random_bool(0.2),
            retention: self.retention(),
            late_ms_max: self.rng.random_bool(0.2).then(|| self.rng.random_range(0..3_000)),
            unique: None,
            version: None,
            body: self.bytes(60),
            codec: self.codec(),
            notes: notes[..noted].to_vec(),
        }
    }

    fn retention(&mut self) -> Retention {
        let window = WINDOW_MS_MIN + self.rng.random_range(0..1_000);
        let rules = [
            Retention::Nothing,
            Retention::Nothing,
            Retention::AfterEnd(window),
            Retention::FromEnqueue(window),
            Retention::UntilForgotten,
        ];
        *self.pick(&rules)
    }

    fn settle(&mut self) -> SettleAndClaim {
        let again = if self.rng.random_bool(0.1) { self.calls.last() } else { None };
        let late = if self.rng.random_bool(0.05) { self.calls.choose(&mut self.rng) } else { None };
        if let Some(call) = again.or(late) {
            return call.clone();
        }
        let worker = self.rng.random_range(0..WORKERS);
        self.sequences[worker] += 1;
        let call = SettleAndClaim {
            worker: Worker([u8::try_from(worker).unwrap_or(0); 16]),
            sequence: self.sequences[worker],
            settlements: self.many(3, |this| Some((this.receipt()?, this.outcome()))).into_iter().flatten().collect(),
            limit: self.rng.random_range(0..4),
            lease_ms: *self.pick(&[1_000, 30_000]),
            token: Token::from(self.rng.random::<[u8; 16]>()),
            room: Room {
                slots: *self.pick(&[0, 1, 16, 64]),
                level: self.rng.random_range(0..3),
                running: self.rng.random_range(0..3),
            },
            fence_floor: if self.rng.random_bool(0.02) { self.now * 1_000 + 5_000_000 } else { 0 },
        };
        self.calls.push(call.clone());
        let excess = self.calls.len().saturating_sub(CALLS);
        self.calls.drain(..excess);
        call
    }

    fn outcome(&mut self) -> Outcome {
        let delay_ms = *self.pick(&[0, 100, 2_000]);
        match self.rng.random_range(0..10) {
            0..4 => Outcome::Done,
            4..7 => Outcome::Failed { retry_ms: delay_ms, error: self.bytes(40) },
            7 => Outcome::Snoozed { after_ms: delay_ms },
            8 => Outcome::Released,
            _ => Outcome::Dead { reason: self.bytes(40) },
        }
    }

    fn heartbeat(&mut self) -> Heartbeat {
        let deliveries = self.many(3, |this| Some((this.receipt()?, this.report())));
        Heartbeat {
            worker: Worker([u8::try_from(self.rng.random_range(0..WORKERS)).unwrap_or(0); 16]),
            lease_ms: *self.pick(&[1_000, 30_000]),
            deliveries: deliveries.into_iter().flatten().collect(),
        }
    }

    fn report(&mut self) -> Report {
        Report {
            is_started: self.rng.random_bool(0.5),
            is_shielded: self.rng.random_bool(0.2),
            is_alone: self.rng.random_bool(0.4),
        }
    }

    fn reschedule(&mut self) -> Reschedule {
        let (with_when, with_body) = (self.rng.random_bool(0.8), self.rng.random_bool(0.4));
        Reschedule {
            id: self.id(),
            when: with_when.then(|| self.when()),
            body: with_body.then(|| self.bytes(80)),
            codec: self.codec(),
        }
    }

    fn rescue(&mut self) -> Rescue {
        Rescue {
            limit: self.rng.random_range(0..5),
            crash_max: self.rng.random_range(1..4),
            crash_delay_ms: *self.pick(&[0, 500, 3_000_000]),
            row_decides: self.rng.random_bool(0.3),
        }
    }

    fn redrive(&mut self) -> Redrive {
        Redrive {
            redrive: self.redrive_id(),
            filter: self.bytes(10),
            ids: self.many(6, Self::id),
            delay_ms: self.rng.random_range(0..500),
        }
    }

    /// The latest redrive, the one before, or a new one: an old one finds only what died later.
    fn redrive_id(&mut self) -> [u8; 16] {
        if self.rng.random_bool(0.1) {
            self.redrives = self.redrives.wrapping_add(1);
        }
        [self.redrives.wrapping_sub(self.rng.random_range(0..2)); 16]
    }

    fn purge(&mut self) -> Purge {
        Purge { state: *self.pick(&[State::Waiting(Priority::Low), State::Dead]), limit: self.rng.random_range(0..3) }
    }

    fn pause(&mut self) -> Pause {
        let span = self.rng.random_range(0..5_000);
        Pause(self.rng.random_bool(0.7).then_some(self.now + span))
    }

    fn limits(&mut self) -> Limits {
        Limits {
            jobs_max: self.rng.random_bool(0.3).then(|| self.rng.random_range(5..12)),
            bytes_max: self.rng.random_bool(0.3).then(|| self.rng.random_range(1_000..2_000)),
        }
    }

    fn list(&mut self) -> List {
        let state = *self.pick(&[State::Waiting(Priority::Normal), State::Leased, State::Dead]);
        let after = Listed { score: self.now - self.rng.random_range(0..5_000), id: self.id() };
        let (after, limit) = (self.rng.random_bool(0.5).then_some(after), self.rng.random_range(1..5));
        List { state, newest_first: !self.rng.random_bool(0.5), after, limit }
    }

    /// Bodies are empty or random, so that now and then the seen one is the stored one.
    fn look(&mut self) -> Move {
        let bytes = *self.pick(&[0, 4, 512]);
        match self.rng.random_range(0..5) {
            0 => Move::step(Amend { id: self.id(), seen: self.bytes(1), body: self.bytes(20), codec: self.codec() }),
            1 => Move::step(ReadPreviews { ids: self.many(5, Self::id), bytes }),
            2 => Move::step(ReadSomeJobs(self.many(5, Self::id))),
            3 => Move::step(ReadPosition { id: self.id(), bytes }),
            _ => Move::step(ReadKept(Worker([u8::try_from(self.rng.random_range(0..WORKERS)).unwrap_or(0); 16]))),
        }
    }

    fn when(&mut self) -> When {
        let delay_ms = *self.pick(&[0, 0, 5, 700, 4_000]);
        if self.rng.random_bool(0.5) { When::In(delay_ms) } else { When::At(self.now + delay_ms - 3) }
    }

    fn id(&mut self) -> JobId {
        JobId([self.rng.random_range(0..IDS); 16])
    }

    fn receipt(&mut self) -> Option<Receipt> {
        let receipt = *self.receipts.choose(&mut self.rng)?;
        let token = Token::from(self.rng.random::<[u8; 16]>());
        Some(match self.rng.random_range(0..20) {
            0 => Receipt { token, ..receipt },
            1 => Receipt { fence: receipt.fence + 1, ..receipt },
            _ => receipt,
        })
    }

    fn codec(&mut self) -> Option<u8> {
        *self.pick(&[None, Some(1), Some(2), Some(4), Some(77)])
    }

    fn bytes(&mut self, most: usize) -> Bytes {
        let length = self.rng.random_range(0..=most);
        (0..length).map(|_| self.rng.random::<u8>()).collect()
    }

    fn many<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.rng.random_range(0..=most)).map(|_| make(self)).collect()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.rng.random_range(0..from.len())]
    }
}
