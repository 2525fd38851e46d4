//! [`SettleAndClaim`]: a worker's main call.

use super::{Outcome, Receipt, Room, Verdict, Worker};
use crate::queue::job::{End, Job, JobSpec};
use crate::queue::record::{Record, Unreadable};
use crate::queue::shard::{StoredReply, size};
use crate::queue::steps::CLAIM_BYTES_MAX;
use crate::queue::steps::prelude::*;
use bytes::Bytes;
use evenkeel_link::Token;

/// Of a longer record a claim returns only the head.
pub const INLINE_BYTES_MAX: u64 = 64 << 10;
/// How old the noted time of a worker's last call may be before its next call to settle or claim is noted.
pub const WORKER_SEEN_MS: u64 = 5_000;
/// How long a claim delays a suspect for which the worker has no free slot.
pub const PUT_OFF_MS: u64 = 100;
/// The maximum number of suspects that one claim delays.
pub const PUT_OFF_MAX: usize = 100;

/// Settles deliveries and claims new ones.
#[derive(Clone, Debug)]
pub struct SettleAndClaim {
    /// The caller, which has one call outstanding.
    pub worker: Worker,
    /// Increases with every new call; a repeat uses the same one and gets the same reply. Begins at 1.
    pub sequence: u64,
    /// The outcomes of deliveries.
    pub settlements: Vec<(Receipt, Outcome)>,
    /// Free slots: the maximum number of claimed jobs.
    pub limit: usize,
    /// The duration of the leases.
    pub lease_ms: u64,
    /// The token of all deliveries of this call.
    pub token: Token,
    /// The highest fencing token with which SQL rejected this worker; 0 for none. New tokens are above it.
    pub fence_floor: u64,
    /// The worker's capacity for suspects.
    pub room: Room,
}

/// The reply to `settle_and_claim`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// A call with a higher sequence was executed first: nothing changed.
    Stale,
    /// It was executed, now or by the first call.
    Done(Claimed),
}

/// The verdicts and deliveries of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// One for each settlement.
    pub verdicts: Vec<Verdict>,
    /// The jobs leased to the worker by this call.
    pub deliveries: Vec<Delivered>,
    /// The time of the next claim; without a due time for a call with the limit 0, which does not look at the waiting jobs.
    pub next: Next,
}

/// The next time at which a job can be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The server's time.
    pub now: u64,
    /// The earliest due time of the waiting jobs; not before a pause ends. `None`: no job waits, or the pause has no end.
    pub due: Option<u64>,
}

/// A leased job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The identity of the delivery.
    pub receipt: Receipt,
    /// When it was due; 0 in the reply to a repeated call, where it is no longer known.
    pub due_at: u64,
    /// The remaining lease in ms, counted from the reply.
    pub lease_left_ms: u64,
    /// The job as it was before this delivery; without body and notes if `more` is set.
    pub job: Result<Box<Job>, Unreadable>,
    /// The length of a record above [`INLINE_BYTES_MAX`], whose body must be read by [`ReadPiece`](super::ReadPiece).
    pub more: Option<u64>,
}

impl Step<Shard> for SettleAndClaim {
    type Reply = Settled;

    fn check(&self) -> Checked {
        check::items(self.settlements.len() + self.limit)?;
        check::ensure(self.sequence > 0, "sequence numbers begin at 1")?;
        check::span(self.lease_ms)?;
        self.settlements.iter().try_for_each(|(_, outcome)| outcome.check())
    }

    fn call(&self, _: &Shard) -> Call {
        let args = Args::default()
            .bytes(self.worker.0)
            .number(self.sequence)
            .number(self.lease_ms)
            .size(self.limit)
            .bytes(self.token.as_bytes())
            .number(self.fence_floor)
            .number(self.room.slots.into())
            .number(self.room.level.into())
            .number(self.room.running.into());
        let settlements = self.settlements.iter();
        let args = settlements.fold(args, |args, (receipt, outcome)| args.bytes(outcome.encode(receipt)));
        Call::function(&scripts::SETTLE_AND_CLAIM, args).after(&scripts::TYPES, Args::default())
    }

    fn reply(&self, value: Value) -> Replied<Settled> {
        if value == Value::Nil {
            return Ok(Settled::Stale);
        }
        let [verdicts, now, due, deliveries] = wire::parts(value)?;
        let all = [Verdict::Lost, Verdict::Settled, Verdict::Died, Verdict::Discarded];
        let verdict = |code: &u8| wire::coded(&all, u64::from(*code), "settle_and_claim");
        let verdicts = bulk(verdicts)?.iter().map(verdict).collect::<Replied<_>>()?;
        let next = Next { now: unsigned(&now)?, due: u64::try_from(integer(&due)?).ok() };
        let mut fields = array(deliveries)?.into_iter();
        let mut deliveries = Vec::with_capacity(fields.len() / 5);
        while let Some(id) = fields.next() {
            deliveries.push(delivered(&bulk(id)?, &mut fields, self.token)?);
        }
        Ok(Settled::Done(Claimed { verdicts, deliveries, next }))
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Settled> {
        let (earlier, seen) = state.answers.get(&self.worker).map(|answer| (answer.sequence, answer.seen)).unzip();
        if earlier.is_some_and(|earlier| earlier > self.sequence) {
            return Ok(Settled::Stale);
        }
        let lease_now = state.lease_clock(now);
        if earlier == Some(self.sequence) {
            state.record_call(self.worker, lease_now);
            return Ok(Settled::Done(state.repeat(now, lease_now, self)));
        }
        let seen = seen.filter(|seen| lease_now - seen < WORKER_SEEN_MS).unwrap_or_else(|| {
            state.record_call(self.worker, lease_now);
            lease_now
        });
        state.fence_floor = state.fence_floor.max(self.fence_floor);
        let verdicts: Vec<Verdict> =
            self.settlements.iter().map(|(receipt, outcome)| state.settle(now, receipt, outcome)).collect();
        let deliveries = if state.paused(now).is_some() { Vec::new() } else { state.claim(now, lease_now, self) };
        if self.limit > 0 {
            state.leave_markers(now, 0..state.due.len());
        } else {
            state.announce(now);
        }
        let ids = deliveries.iter().map(|delivered| delivered.receipt.id).collect();
        let answer = StoredReply { sequence: self.sequence, seen, token: self.token, verdicts: verdicts.clone(), ids };
        state.answers.insert(self.worker, answer);
        Ok(Settled::Done(Claimed { verdicts, deliveries, next: state.next_for(now, self) }))
    }
}

/// Reads a delivery; `token` is the token of the call, which all its deliveries have.
fn delivered(id: &[u8], fields: &mut impl Iterator<Item = Value>, token: Token) -> Replied<Delivered> {
    let unexpected = || wire::unexpected("settle_and_claim");
    let mut field = || fields.next().ok_or_else(unexpected);
    let (id, fence, due_at) = (wire::job_id(id)?, unsigned(&field()?)?, unsigned(&field()?)?);
    let lease_left_ms = unsigned(&field()?)?;
    let (record, more) = match field()? {
        Value::Array(parts) => {
            let [head, size] = <[Value; 2]>::try_from(parts).map_err(|_| unexpected())?;
            (Record::decode_head(&bulk(head)?), Some(unsigned(&size)?))
        }
        whole => (Record::decode(&bulk(whole)?), None),
    };
    let job = match record {
        Ok(Record::Live(mut job)) => {
            // In the reply to a repeated call the record already has this delivery's token.
            job.token = None;
            Ok(job)
        }
        Ok(Record::Ended(_)) => Err(Unreadable::ended()),
        Err(unreadable) => Err(unreadable),
    };
    Ok(Delivered { receipt: Receipt { id, token, fence }, due_at, lease_left_ms, job, more })
}

impl ShardState {
    /// The reply to a repeated call: the same deliveries, except those no longer held under its token.
    fn repeat(&self, now: u64, lease_now: u64, call: &SettleAndClaim) -> Claimed {
        let Some(answer) = self.answers.get(&call.worker) else {
            return Claimed { verdicts: Vec::new(), deliveries: Vec::new(), next: self.next_for(now, call) };
        };
        let deliveries = answer.ids.iter().filter_map(|id| {
            let (job, _, deadline) = self.live(*id).filter(|(job, _, _)| job.token == Some(answer.token))?;
            let receipt = Receipt { id: *id, token: answer.token, fence: job.fence };
            let (mut job, more) = claimed_part(job);
            job.token = None;
            let lease_left_ms = deadline.saturating_sub(lease_now);
            Some(Delivered { receipt, due_at: 0, lease_left_ms, job: Ok(job), more })
        });
        Claimed { verdicts: answer.verdicts.clone(), deliveries: deliveries.collect(), next: self.next_for(now, call) }
    }

    /// A call that claims nothing does not look at what waits.
    fn next_for(&self, now: u64, call: &SettleAndClaim) -> Next {
        if call.limit > 0 { self.next(now) } else { Next { now, due: None } }
    }

    fn claim(&mut self, now: u64, lease_now: u64, call: &SettleAndClaim) -> Vec<Delivered> {
        let due = self.due.iter().flat_map(|index| index.iter().take_while(|(due, _)| *due <= now));
        // Suspects that are put off do not count toward the limit.
        let candidates: Vec<(u64, JobId)> = due.take(call.limit + PUT_OFF_MAX + 1).copied().collect();
        let (mut deliveries, mut bytes) = (Vec::new(), 0);
        let (mut limit, mut room, mut put_off) = (call.limit, call.room, 0);
        for (due_at, id) in candidates {
            if limit == 0 {
                break;
            }
            let Some((job, _, _)) = self.live(id) else { continue };
            if job.expires_at.is_some_and(|expires_at| now > expires_at) {
                if let Some(job) = self.take(id) {
                    self.end(id, &job, End::Expired, now);
                }
                limit -= 1;
                continue;
            }
            let level = job.suspicion();
            if level > 0 && !room.has_room(level) {
                if put_off == PUT_OFF_MAX {
                    break;
                }
                put_off += 1;
                self.put_off(id, now);
                continue;
            }
            let size = size(job);
            if !deliveries.is_empty() && bytes + size > CLAIM_BYTES_MAX && guard("model_claim_bytes") {
                break;
            }
            bytes += size;
            limit -= 1;
            if level > 0 {
                (room.level, room.running) = (level, room.running + 1);
            }
            deliveries.extend(self.deliver(now, lease_now, call, id, due_at));
        }
        deliveries
    }

    /// Delays a suspect for which the worker has no free slot, so that the jobs after it are claimed.
    fn put_off(&mut self, id: JobId, now: u64) {
        let Some((_, state, _)) = self.live(id) else { return };
        if let Some(job) = self.take(id) {
            self.place(id, job, state, now + PUT_OFF_MS);
        }
    }

    fn deliver(
        &mut self,
        now: u64,
        lease_now: u64,
        call: &SettleAndClaim,
        id: JobId,
        due_at: u64,
    ) -> Option<Delivered> {
        let mut job = self.take(id)?;
        job.started = false;
        let (before, more) = claimed_part(&job);
        job.alone = false;
        job.fence = (job.fence + 1).max(now * 1000).max(self.fence_floor + 1);
        job.token = Some(call.token);
        let receipt = Receipt { id, token: call.token, fence: job.fence };
        self.place(id, job, State::Leased, lease_now + call.lease_ms);
        Some(Delivered { receipt, due_at, lease_left_ms: call.lease_ms, job: Ok(before), more })
    }
}

/// A job as a claim returns it: a large one without its body, with the length of its record.
fn claimed_part(job: &Job) -> (Box<Job>, Option<u64>) {
    let size = size(job);
    if size <= INLINE_BYTES_MAX || !guard("model_large_body_left_behind") {
        return (Box::new(job.clone()), None);
    }
    let spec = JobSpec { body: Bytes::new(), notes: Vec::new(), ..job.spec.clone() };
    (Box::new(Job { spec, ..job.clone() }), Some(size))
}
