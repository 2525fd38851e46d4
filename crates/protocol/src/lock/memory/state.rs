//! The state of one name, and the rules of each step.

use crate::lock::steps::{Acquire, Acquired, Fence, Holder, Release, Released, Renewed};
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use std::collections::HashMap;

/// How long a process whose acquisition failed counts as waiting.
const WAITING_MS: u64 = 2_000;
/// How long a process that released a lock lets other processes acquire it first.
const TURN_MS: u64 = 20;
/// Expired records are kept for this long, as Redis may keep them: they become valid again if the clock is set back.
const TIDY_MS: u64 = 3_600_000;
/// How long a fencing token is stored.
const DAY_MS: u64 = 86_400_000;

/// The state of one name.
#[derive(Default)]
pub(super) struct State {
    held: Option<Record>,
    pub(super) ledger: Option<Ledger>,
    /// The waiting processes and when each stops counting as waiting.
    waiters: HashMap<Token, u64>,
    /// The highest fencing token of removed names, which may include earlier ones of this name.
    pub(super) fence_floor: u64,
}

#[derive(Clone)]
pub(super) struct Record {
    owner: Token,
    fence: u64,
    ends: u64,
    lease: u64,
    cooling: u64,
    since: u64,
    limit: Option<u64>,
    metadata: Bytes,
}

/// The state of a name that outlives a lease.
pub(super) struct Ledger {
    pub(super) fence: u64,
    /// The process that released the lock last, and until when it lets other processes acquire it first.
    turn: Option<(Token, u64)>,
    forgotten_at: u64,
}

impl Record {
    fn free_at(&self) -> u64 {
        self.ends + self.cooling
    }
}

impl State {
    /// Removes records that expired long ago.
    pub(super) fn sweep(&mut self, now: u64) {
        self.held.take_if(|held| now >= held.free_at() + TIDY_MS);
        self.ledger.take_if(|ledger| now >= ledger.forgotten_at);
        self.waiters.retain(|_, until| *until + TIDY_MS > now);
    }

    /// The record of a lease that is not over. A lease from the future was written before the clock was set back.
    pub(super) fn open(&self, now: u64) -> Option<Record> {
        let mut held = self.held.clone()?;
        if held.ends > now + held.lease && guard("model_lock_lease_from_future") {
            held.ends = now + held.lease;
        }
        (now < held.free_at()).then_some(held)
    }

    /// Whether it is held, has waiters, or is reserved for other processes.
    pub(super) fn is_used(&self, now: u64) -> bool {
        let has_turn = |ledger: &Ledger| ledger.turn.is_some_and(|(_, until)| until > now);
        let is_waited_for = self.waiters.values().any(|until| *until > now);
        self.open(now).is_some() || is_waited_for || self.ledger.as_ref().is_some_and(has_turn)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_none() && self.ledger.is_none() && self.waiters.is_empty()
    }

    pub(super) fn acquire(&mut self, now: u64, call: &Acquire) -> Acquired {
        let held = self.open(now);
        if let Some(held) = &held
            && held.owner == call.owner
            && now < held.ends
            && guard("model_lock_acquire_repeat")
        {
            return Acquired::Granted { fence: Fence(held.fence), lease_left_ms: held.ends - now };
        }
        let free_at = match (&held, &self.ledger) {
            (Some(held), _) => held.free_at(),
            (None, Some(Ledger { turn: Some((process, until)), .. }))
                if *process == call.process && self.other_waiters(now, call.process) > 0 =>
            {
                *until
            }
            _ => now,
        };
        if free_at > now {
            if held.is_some() {
                self.held = held;
            }
            if call.waits {
                self.waiters.insert(call.process, now + WAITING_MS);
            }
            return Acquired::Taken { free_in_ms: free_at - now };
        }
        self.waiters.remove(&call.process);
        let previous = self.previous();
        let mut fence = 1;
        if guard("model_lock_fence_previous") {
            fence = fence.max(previous + 1);
        }
        if guard("model_lock_fence_time") {
            fence = fence.max(now * 1000);
        }
        if guard("model_lock_fence_floor") {
            fence = fence.max(call.fence_floor + 1);
        }
        let lease = call.hold_ms_max.map_or(call.lease_ms, |hold| call.lease_ms.min(hold));
        self.store_ledger(now, fence, None);
        self.held = Some(Record {
            owner: call.owner,
            fence,
            ends: now + lease,
            lease,
            cooling: call.cooling_ms,
            since: now,
            limit: call.hold_ms_max.map(|hold| now + hold),
            metadata: call.metadata.clone(),
        });
        Acquired::Granted { fence: Fence(fence), lease_left_ms: lease }
    }

    pub(super) fn renew(&mut self, now: u64, owner: Token, lease_ms: u64) -> Renewed {
        let Some(mut held) = self.open(now) else { return Renewed::Lost };
        if held.owner != owner && guard("model_lock_renew_owner") {
            return Renewed::Lost;
        }
        if now >= held.ends && guard("model_lock_renew_ended") {
            return Renewed::Lost;
        }
        let mut ends = now + lease_ms;
        if let Some(limit) = held.limit
            && guard("model_lock_max_hold")
        {
            ends = ends.min(limit);
        }
        if ends <= held.ends {
            return Renewed::Held { lease_left_ms: held.ends - now };
        }
        (held.ends, held.lease) = (ends, lease_ms);
        self.held = Some(held);
        Renewed::Renewed { lease_left_ms: ends - now }
    }

    pub(super) fn release(&mut self, now: u64, call: Release) -> Released {
        let Some(held) = self.open(now) else { return Released::Nothing };
        if held.owner != call.owner && guard("model_lock_release_owner") {
            return Released::Lost;
        }
        if now >= held.ends && guard("model_lock_release_ended") {
            return Released::Lost;
        }
        let others_waiting = self.other_waiters(now, call.process);
        self.held = None;
        if call.waits {
            self.waiters.insert(call.process, now + WAITING_MS);
        }
        if others_waiting > 0 && guard("model_lock_turn") {
            self.store_ledger(now, held.fence, Some((call.process, now + TURN_MS)));
        }
        self.wake_one(now, call.process);
        Released::Released { others_waiting }
    }

    pub(super) fn raise(&mut self, now: u64, owner: Token, seen: Fence) -> Option<Fence> {
        let previous = self.previous();
        let mut held = self.open(now)?;
        if held.owner != owner && guard("model_lock_raise_owner") {
            return None;
        }
        if now >= held.ends {
            return None;
        }
        if held.fence <= seen.0 {
            held.fence = previous.max(seen.0) + 1;
            self.store_ledger(now, held.fence, None);
            self.held = Some(held.clone());
        }
        Some(Fence(held.fence))
    }

    pub(super) fn inspect(&self, now: u64) -> Option<Holder> {
        let held = self.open(now)?;
        Some(Holder {
            owner: held.owner,
            fence: Fence(held.fence),
            lease_left_ms: held.ends.saturating_sub(now),
            free_in_ms: held.free_at() - now,
            held_ms: now.saturating_sub(held.since),
            waiting: self.waiters.values().filter(|until| **until > now).count() as u64,
            metadata: held.metadata,
        })
    }

    pub(super) fn break_lock(&mut self, now: u64, seen: Option<Fence>) -> Option<Holder> {
        let holder = self.inspect(now)?;
        if seen.is_some_and(|seen| seen != holder.fence) && guard("model_lock_break_fence") {
            return None;
        }
        self.held = None;
        let previous = self.previous();
        self.store_ledger(now, previous.max(holder.fence.0), None);
        Some(holder)
    }

    /// The last known fencing token of this name, or one above it.
    fn previous(&self) -> u64 {
        self.ledger.as_ref().map_or(self.fence_floor, |ledger| ledger.fence)
    }

    fn store_ledger(&mut self, now: u64, fence: u64, turn: Option<(Token, u64)>) {
        self.ledger = Some(Ledger { fence, turn, forgotten_at: now + DAY_MS });
    }

    /// The number of other waiting processes.
    fn other_waiters(&self, now: u64, process: Token) -> u64 {
        self.waiting(now, process).count() as u64
    }

    /// Wakes the process that has waited longest, once: one that does not respond has died or no longer waits. (Within one process all
    /// waiters are notified.)
    fn wake_one(&mut self, now: u64, process: Token) {
        let called = self.waiting(now, process).min_by_key(|(waiter, until)| (*until, *waiter.as_bytes()));
        if let Some((called, _)) = called
            && guard("model_lock_called_once")
        {
            self.waiters.insert(called, now + TURN_MS);
        }
    }

    /// The other waiting processes, and when each stops counting as waiting.
    fn waiting(&self, now: u64, process: Token) -> impl Iterator<Item = (Token, u64)> {
        let all = self.waiters.iter().map(|(waiter, until)| (*waiter, *until));
        all.filter(move |(waiter, until)| *waiter != process && *until > now)
    }
}
