//! A worker's steps: `settle_and_claim`, `heartbeat` and `progress`.

use super::state::{Record, ShardState, StoredReply, note_error, size};
use crate::queue::job::{End, ErrorClass, Job, JobId, JobSpec, Note, Retries};
use crate::queue::record::encode_job;
use crate::queue::steps::{
    CLAIM_BYTES_MAX, Claimed, Delivered, Heartbeat, INLINE_BYTES_MAX, Next, Outcome, PUT_OFF_MAX, PUT_OFF_MS, Receipt,
    Report, SettleAndClaim, Settled, State, Verdict, WORKER_SEEN_MS,
};
use bytes::Bytes;
use evenkeel_link::support::guard;

impl ShardState {
    pub(crate) fn settle_and_claim(&mut self, now: u64, call: &SettleAndClaim) -> Settled {
        let (earlier, seen) = self.answers.get(&call.worker).map(|answer| (answer.sequence, answer.seen)).unzip();
        if earlier.is_some_and(|earlier| earlier > call.sequence) {
            return Settled::Stale;
        }
        let lease_now = self.lease_clock(now);
        if earlier == Some(call.sequence) {
            self.record_call(call.worker, lease_now);
            return Settled::Done(self.repeat(now, lease_now, call));
        }
        let seen = seen.filter(|seen| lease_now - seen < WORKER_SEEN_MS).unwrap_or_else(|| {
            self.record_call(call.worker, lease_now);
            lease_now
        });
        self.fence_floor = self.fence_floor.max(call.fence_floor);
        let verdicts: Vec<Verdict> =
            call.settlements.iter().map(|(receipt, outcome)| self.settle(now, receipt, outcome)).collect();
        let deliveries = if self.paused(now).is_some() { Vec::new() } else { self.claim(now, lease_now, call) };
        if call.limit > 0 {
            self.leave_markers(now, 0..self.due.len());
        } else {
            self.announce(now);
        }
        let ids = deliveries.iter().map(|delivered| delivered.receipt.id).collect();
        let answer = StoredReply { sequence: call.sequence, seen, token: call.token, verdicts: verdicts.clone(), ids };
        self.answers.insert(call.worker, answer);
        Settled::Done(Claimed { verdicts, deliveries, next: self.next_for(now, call) })
    }

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

    fn settle(&mut self, now: u64, receipt: &Receipt, outcome: &Outcome) -> Verdict {
        if !self.is_current(receipt) {
            return Verdict::Lost;
        }
        let id = receipt.id;
        let Some(mut job) = self.take(id) else { return Verdict::Lost };
        (job.crashes, job.lease_expiries) = (0, 0);
        match outcome {
            Outcome::Done => self.end(id, &job, End::Done, now),
            Outcome::Failed { retry_ms, error } => {
                job.errors = job.errors.saturating_add(1);
                note_error(&mut job, now, ErrorClass::Failed, error);
                if matches!(job.spec.retries, Retries::Limited(retries) if job.errors > retries) {
                    let discard = job.spec.discard_exhausted;
                    return self.dead_letter(id, job, discard, now);
                }
                self.wait(id, job, now + retry_ms);
                self.totals.retried += 1;
            }
            Outcome::Snoozed { after_ms } => self.wait(id, job, now + after_ms),
            Outcome::Released => self.wait(id, job, now),
            Outcome::Dead { reason } => {
                job.errors = job.errors.saturating_add(1);
                note_error(&mut job, now, ErrorClass::Dead, reason);
                return self.dead_letter(id, job, false, now);
            }
        }
        Verdict::Settled
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

    pub(crate) fn heartbeat(&mut self, now: u64, heartbeat: &Heartbeat) -> Vec<bool> {
        let lease_now = self.lease_clock(now);
        self.record_call(heartbeat.worker, lease_now);
        let deadline = lease_now + heartbeat.lease_ms;
        heartbeat.deliveries.iter().map(|(receipt, report)| self.extend(receipt, *report, deadline)).collect()
    }

    /// Some bytes of a record; fewer at its end, none if there is no job.
    pub(crate) fn piece(&self, id: JobId, from: u64, bytes: u64) -> Bytes {
        let Some((job, _, _)) = self.live(id) else { return Bytes::new() };
        let record = encode_job(job);
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(record.len());
        record.slice(place(from)..place(from.saturating_add(bytes)))
    }

    pub(crate) fn progress(&mut self, receipt: &Receipt, progress: Bytes) -> bool {
        if !self.is_current(receipt) {
            return false;
        }
        let Some((_, state, score)) = self.live(receipt.id) else { return false };
        let Some(mut job) = self.take(receipt.id) else { return false };
        job.spec.notes.retain(|note| !matches!(note, Note::Progress(_)));
        job.spec.notes.push(Note::Progress(progress));
        self.place(receipt.id, job, state, score);
        true
    }

    fn extend(&mut self, receipt: &Receipt, report: Report, until: u64) -> bool {
        if !self.is_current(receipt) {
            return false;
        }
        if let Some(Record::Live { job, score, .. }) = self.records.get_mut(&receipt.id) {
            job.started |= report.is_started;
            (job.shielded, job.alone) = (report.is_shielded, report.is_alone);
            if until > *score {
                self.leased.remove(&(*score, receipt.id));
                self.leased.insert((until, receipt.id));
                *score = until;
            }
        }
        true
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
