//! [`PermitRequest`]: permits are acquired.

use super::prelude::*;
use super::{Kind, LEASE_MS_MAX, WAITERS_MAX, WAITING_MS, WATCH_MS, check_size, token};
use crate::lock::pool::state::{Hold, Place};
use crate::lock::steps::{METADATA_BYTES_MAX, check_floor};
use bytes::Bytes;
use std::collections::HashMap;

/// Acquires permits, if there are enough in addition to those of earlier requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitRequest {
    /// The future holder: drawn anew for each acquisition, the same for repeats of the call.
    pub owner: Token,
    /// The number of requested permits.
    pub permits: u32,
    /// The number of permits of the pool, according to the caller.
    pub permits_in_all: u32,
    /// How long they are held without a renewal.
    pub lease_ms: u64,
    /// How long they may be held with renewals; `None` for no limit.
    pub hold_ms_max: Option<u64>,
    /// A fencing token that was seen elsewhere: the granted one is above it.
    pub fence_floor: u64,
    /// Whether the caller takes a place in the queue if the request is not granted.
    pub waits: bool,
    /// How long the caller has waited before it takes a place: waiters are served in the order in which they asked.
    pub waited_ms: u64,
    /// Whether the caller, which has a place, was not notified. Such a call renews the place and reads the pool only if a check is due.
    pub polls: bool,
    /// The holder's metadata.
    pub metadata: Bytes,
}

/// The reply to a [`PermitRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitReply {
    /// The caller holds its permits.
    Granted {
        /// The remaining lease, counted from the backend's reply.
        lease_left_ms: u64,
        /// Its fencing token, which concurrent readers share; 0 in a semaphore.
        fence: Fence,
        /// The owner recorded with the fence: the writer, or the first of the readers that share it.
        signer: Token,
    },
    /// There are not enough permits, or earlier requests have precedence.
    Taken {
        /// The time until there may be enough permits, unless some are released before.
        free_in_ms: u64,
    },
    /// The caller keeps its place, and no check of the pool is due.
    Queued,
    /// The pool's number of permits differs from the caller's. Nothing was done.
    Differs {
        /// The pool's number of permits.
        permits_in_all: u32,
    },
}

impl Step<Pool> for PermitRequest {
    type Reply = PermitReply;

    fn check(&self) -> Replied<()> {
        let refuse = |sentence: String| Err(LockError::Invalid(sentence));
        check_size(self.permits_in_all)?;
        if self.permits == 0 || self.permits > self.permits_in_all {
            return refuse(format!(
                "{} permits were requested; the minimum is 1 and the maximum is {}",
                self.permits, self.permits_in_all
            ));
        }
        if self.lease_ms == 0 || self.lease_ms > LEASE_MS_MAX {
            return refuse(format!(
                "a ttl of {} ms; choose 50ms to a day for permits, which their guard renews",
                self.lease_ms
            ));
        }
        if self.metadata.len() > METADATA_BYTES_MAX {
            return refuse(format!("{} bytes of metadata; the limit is {METADATA_BYTES_MAX}", self.metadata.len()));
        }
        check_floor(self.fence_floor)
    }

    fn call(&self, pool: &Pool) -> Call {
        let args = Args::default()
            .bytes(self.owner.as_bytes())
            .number(self.permits.into())
            .number(self.permits_in_all.into())
            .number(self.lease_ms)
            .number(self.hold_ms_max.unwrap_or(0))
            .number(self.fence_floor)
            .number(self.waits.into())
            .bytes(&self.metadata)
            .number((pool.kind() == Kind::ReadWrite).into())
            .number(self.waited_ms)
            .number(self.polls.into())
            .bytes(pool.channel());
        Call::function(&scripts::ACQUIRE, args)
    }

    fn reply(&self, value: Value) -> Replied<PermitReply> {
        let (verdict, number, fence, signer): (i8, u64, u64, Vec<u8>) = typed(value)?;
        match verdict {
            1 => Ok(PermitReply::Granted { lease_left_ms: number, fence: Fence(fence), signer: token(signer)? }),
            0 => Ok(PermitReply::Taken { free_in_ms: number }),
            2 => Ok(PermitReply::Queued),
            -1 => {
                Ok(PermitReply::Differs { permits_in_all: u32::try_from(number).map_err(|_| unexpected("acquire"))? })
            }
            _ => Err(unexpected("acquire")),
        }
    }

    fn apply(&self, state: &mut State, now: u64) -> Replied<PermitReply> {
        let reply = state.acquire(now, self);
        // The caller has checked the pool for all that poll.
        state.wakes = self.polls && reply != PermitReply::Queued && guard("model_pool_watch_notifies");
        Ok(reply)
    }
}

impl State {
    fn acquire(&mut self, now: u64, request: &PermitRequest) -> PermitReply {
        if request.polls && self.keep_place(now, request.owner) {
            return PermitReply::Queued;
        }
        if self.permits > 0 && self.permits != request.permits_in_all && guard("model_pool_permits_agree") {
            return PermitReply::Differs { permits_in_all: self.permits };
        }
        let holds = self.holds(now);
        if let Some(hold) = holds.get(&request.owner)
            && guard("model_pool_acquire_repeat")
        {
            let (fence, signer) = self.signature(request);
            return PermitReply::Granted { lease_left_ms: hold.ends - now, fence, signer };
        }
        // Expired places are deleted, so that they do not return if the clock is set back.
        self.places.retain(|_, place| place.live(now).is_some());
        let free_in_ms = self.free_in_ms(now, request, &holds);
        self.holds = holds;
        if free_in_ms > 0 {
            if request.waits {
                self.join_queue(now, request);
            }
            self.watch(now, request);
            return PermitReply::Taken { free_in_ms };
        }
        self.places.remove(&request.owner);
        self.permits = request.permits_in_all;
        if self.kind == Kind::ReadWrite {
            self.issue_fence(now, request);
        }
        let lease = request.hold_ms_max.map_or(request.lease_ms, |hold| request.lease_ms.min(hold));
        let limit = request.hold_ms_max.map(|hold| now + hold);
        let hold = Hold {
            permits: request.permits,
            ends: now + lease,
            lease,
            since: now,
            limit,
            metadata: request.metadata.clone(),
        };
        self.holds.insert(request.owner, hold);
        self.used(now);
        self.watch(now, request);
        let (fence, signer) = self.signature(request);
        PermitReply::Granted { lease_left_ms: lease, fence, signer }
    }

    /// The time until there is room for the caller at the earliest, given the holders and the earlier requests; 0 if there is room.
    fn free_in_ms(&self, now: u64, request: &PermitRequest, holds: &HashMap<Token, Hold>) -> u64 {
        let others = self.places(now).into_iter().filter(|(owner, _)| *owner != request.owner);
        // A caller that does not wait comes after the queue.
        let mine = self.place_of(now, request).map(|place| place.order());
        let ahead = others.filter_map(|(_, place)| mine.is_none_or(|mine| place.order() < mine).then_some(place));
        let ahead = ahead.filter_map(|place| Some((place.permits, place.keeps_until(now)?)));
        let ahead: Vec<(u32, u64)> = if guard("model_pool_order") { ahead.collect() } else { Vec::new() };
        let kept: u32 = ahead.iter().map(|(permits, _)| permits).sum();
        let mut used: u32 = holds.values().map(|hold| hold.permits).sum();
        if used + kept + request.permits <= request.permits_in_all || !guard("model_pool_room") {
            return 0;
        }
        let mut free_at = ahead.iter().map(|(_, until)| *until).min().unwrap_or(u64::MAX);
        let mut leases: Vec<&Hold> = holds.values().collect();
        leases.sort_by_key(|hold| hold.ends);
        for hold in leases {
            if used + request.permits > request.permits_in_all {
                (used, free_at) = (used - hold.permits, hold.ends);
            }
        }
        free_at - now
    }

    /// Assigns a place in the queue, or renews the caller's place.
    fn join_queue(&mut self, now: u64, request: &PermitRequest) {
        let Some(mut mine) = self.place_of(now, request) else { return };
        if !self.places.contains_key(&request.owner) {
            if self.places.len() >= WAITERS_MAX {
                return;
            }
            self.place += 1;
            mine.place = self.place;
        }
        let (permits, until) = (request.permits, now + WAITING_MS);
        self.places.insert(request.owner, Place { permits, until, ..mine });
        self.used(now);
    }

    /// The place of the caller, or the one that it takes if it waits, after waiting in the local queue of its process.
    fn place_of(&self, now: u64, request: &PermitRequest) -> Option<Place> {
        let asked = now.saturating_sub(request.waited_ms);
        let new = Place { permits: request.permits, place: u64::MAX, asked, until: now };
        self.places.get(&request.owner).and_then(|place| place.live(now)).or_else(|| request.waits.then_some(new))
    }

    /// Renews the place of a waiter that polls, until a check of the pool is due.
    fn keep_place(&mut self, now: u64, owner: Token) -> bool {
        let Some(mine) = self.places.get(&owner).and_then(|place| place.live(now)) else { return false };
        let is_due = now >= self.watch_due && guard("model_pool_watch_due");
        if self.watch_due == 0 || is_due || self.watch_due > now + WATCH_MS {
            return false;
        }
        self.places.insert(owner, Place { until: now + WAITING_MS, ..mine });
        self.used(now);
        true
    }

    /// Stores when the next check is due, if this one was made for all that poll: after a second, or when a lease or a turn ends.
    fn watch(&mut self, now: u64, request: &PermitRequest) {
        if !request.polls {
            return;
        }
        let leases = self.holds(now).into_values().map(|hold| hold.ends);
        let turns = self.places(now).into_values().filter_map(|place| place.keeps_until(now));
        self.watch_due = leases.chain(turns).min().unwrap_or(u64::MAX).min(now + WATCH_MS);
    }

    /// Issues a fencing token above all earlier ones; concurrent readers share one.
    fn issue_fence(&mut self, now: u64, request: &PermitRequest) {
        if !self.holds.is_empty() && guard("model_pool_readers_share") {
            self.fence = self.fence.max(request.fence_floor + 1);
            return;
        }
        let mut fence = 1;
        if guard("model_pool_fence_previous") {
            fence = fence.max(self.fence + 1);
        }
        if guard("model_pool_fence_time") {
            fence = fence.max(now * 1000);
        }
        if guard("model_pool_fence_floor") {
            fence = fence.max(request.fence_floor + 1);
        }
        (self.fence, self.signer) = (fence, request.owner);
    }

    fn signature(&self, request: &PermitRequest) -> (Fence, Token) {
        match self.kind {
            Kind::ReadWrite => (Fence(self.fence), self.signer),
            Kind::Semaphore => (Fence(0), request.owner),
        }
    }
}
