//! The state of a shard in the model, and the operations of which the steps consist.

use crate::queue::job::{
    CompletionRecord, ERRORS_KEPT_MAX, End, ErrorClass, ErrorNote, Job, JobId, JobSpec, Note, REVOKE_MS_MIN, Retention,
    UniqueKey,
};
use crate::queue::record::encoded_len;
use crate::queue::steps::grow::Transfer;
use crate::queue::steps::{
    Found, ITEMS_MAX, Limits, MARKERS_MAX, Next, Receipt, State, Totals, Verdict, WORKER_COUNTED_MS, WORKER_SILENT_MS,
    Worker,
};
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The maximum number of expired records that one step removes: more than the largest step adds.
const SWEEP_MAX: usize = 2 * ITEMS_MAX;
/// Expired records are kept for this long, as in Redis: they become valid again if the clock is set back a little.
const SWEEP_LAG_MS: u64 = 3_600_000;

/// An index: score, then id.
pub(crate) type Index = BTreeSet<(u64, JobId)>;

/// The state of one shard.
#[derive(Default)]
pub struct ShardState {
    pub(crate) records: HashMap<JobId, Record>,
    pub(crate) due: [Index; 4],
    /// By deadline on the lease clock.
    pub(crate) leased: Index,
    pub(crate) dead: Index,
    /// The end and the owner of each unique key.
    pub(crate) unique: HashMap<UniqueKey, (u64, JobId)>,
    pub(crate) answers: HashMap<Worker, StoredReply>,
    /// The time of each worker's last call, on the lease clock.
    pub(crate) workers: HashMap<Worker, u64>,
    /// The last tick of each schedule.
    pub(crate) schedules: HashMap<[u8; 16], u64>,
    pub(crate) redrives: HashMap<[u8; 16], RedriveState>,
    /// The expiries of completion records, unique keys and redrives.
    pub(crate) expiries: BTreeSet<(u64, Expiring)>,
    pub(crate) markers: u64,
    /// The jobs that the current call has added to the waiting ones, by priority.
    pub(crate) added: BTreeSet<(usize, JobId)>,
    /// The server time that the last step with leases saw, and the sum of its backward jumps.
    pub(crate) seen: Option<u64>,
    pub(crate) back: u64,
    pub(crate) fence_floor: u64,
    pub(crate) paused_until: Option<u64>,
    pub(crate) limits: Limits,
    pub(crate) bytes: u64,
    pub(crate) totals: Totals,
    /// The index of this shard within its topic.
    pub(crate) number: u16,
    /// The topic's number of shards, once it has grown.
    pub(crate) shards: Option<u16>,
    /// Items that were sent to other shards and are not known to have been received yet.
    pub(crate) leaving: BTreeMap<u16, BTreeMap<u64, Transfer>>,
    /// The last sequence number sent to each other shard, and received from each.
    pub(crate) last_sent: HashMap<u16, u64>,
    pub(crate) last_received: HashMap<u16, u64>,
}

/// The content of the key `job:<id>`.
pub(crate) enum Record {
    Live { job: Box<Job>, state: State, score: u64 },
    Ended(CompletionRecord),
}

/// Something that expires.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expiring {
    CompletionRecord(JobId),
    Unique(UniqueKey),
    Redrive([u8; 16]),
}

/// The last reply to a worker.
pub(crate) struct StoredReply {
    pub(crate) sequence: u64,
    /// When a call of the worker was noted last, by the lease clock.
    pub(crate) seen: u64,
    pub(crate) token: Token,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) ids: Vec<JobId>,
}

/// The state of a redrive.
pub(crate) struct RedriveState {
    pub(crate) cutoff: u64,
    pub(crate) filter: Bytes,
    pub(crate) taken: u64,
    pub(crate) retain_until: u64,
}

impl ShardState {
    pub(crate) fn numbered(number: u16) -> Self {
        Self { number, ..Self::default() }
    }

    /// The shard to which this id belongs, if it is another one.
    pub(crate) fn elsewhere(&self, id: JobId) -> Option<u16> {
        self.shards.map(|shards| id.shard(shards)).filter(|keeper| *keeper != self.number)
    }

    /// The time plus the sum of its backward jumps, so that setting the clock back does not extend leases.
    pub(crate) fn lease_clock(&mut self, now: u64) -> u64 {
        self.back += self.seen.map_or(0, |seen| seen.saturating_sub(now));
        self.seen = Some(now);
        now + self.back
    }

    /// The lease clock, without a change of the state.
    pub(crate) fn lease_now(&self, now: u64) -> u64 {
        now + self.back + self.seen.map_or(0, |seen| seen.saturating_sub(now))
    }

    /// The live job with this id.
    pub(crate) fn live(&self, id: JobId) -> Option<(&Job, State, u64)> {
        match self.records.get(&id)? {
            Record::Live { job, state, score } => Some((job, *state, *score)),
            Record::Ended(_) => None,
        }
    }

    /// Whether the topic would be above its limit of bytes if a job became larger by a change.
    pub(crate) fn is_above_limit(&self, held: &Job, changed: JobSpec) -> bool {
        let (before, after) = (size(held), size(&Job { spec: changed, ..held.clone() }));
        after > before && self.limits.bytes_max.is_some_and(|bytes_max| self.bytes + after - before > bytes_max)
    }

    /// The completion record with this id, unless it has expired.
    pub(crate) fn completion(&self, id: JobId, now: u64) -> Option<CompletionRecord> {
        match self.records.get(&id)? {
            Record::Ended(completion) if completion.until.is_none_or(|until| until > now) => Some(*completion),
            _ => None,
        }
    }

    /// The stored state of this id.
    pub(crate) fn found(&self, now: u64, id: JobId) -> Option<Found> {
        match self.live(id) {
            Some((job, state, score)) => Some(Found::Live { state, score, job: Box::new(job.clone()) }),
            None => self.completion(id, now).map(Found::Ended),
        }
    }

    /// Whether this delivery is the current one.
    pub(crate) fn is_current(&self, receipt: &Receipt) -> bool {
        self.live(receipt.id).is_some_and(|(job, _, _)| job.token == Some(receipt.token) && job.fence == receipt.fence)
    }

    /// Removes a live job and its index entry; the caller must put it back or end it.
    pub(crate) fn take(&mut self, id: JobId) -> Option<Box<Job>> {
        self.live(id)?;
        let Some(Record::Live { job, state, score }) = self.records.remove(&id) else { return None };
        self.index(state).remove(&(score, id));
        self.bytes -= size(&job);
        Some(job)
    }

    /// Stores a job and its index entry.
    pub(crate) fn place(&mut self, id: JobId, job: Box<Job>, state: State, score: u64) {
        self.index(state).insert((score, id));
        self.bytes += size(&job);
        self.records.insert(id, Record::Live { job, state, score });
    }

    /// Puts a job back to the waiting ones; its delivery, if any, is no longer current.
    pub(crate) fn wait(&mut self, id: JobId, mut job: Box<Job>, due: u64) {
        job.alone = false;
        self.wait_after_crash(id, job, due);
    }

    /// The same, but `alone` is kept until the next delivery.
    pub(crate) fn wait_after_crash(&mut self, id: JobId, mut job: Box<Job>, due: u64) {
        job.token = None;
        stop(&mut job);
        let priority = job.spec.priority;
        self.added.insert((priority as usize, id));
        self.place(id, job, State::Waiting(priority), due);
    }

    /// Ends a job that was removed; a completion record is stored if its id may be sent again.
    pub(crate) fn end(&mut self, id: JobId, job: &Job, end: End, now: u64) {
        let until = retain_until(job.spec.retention, end, job.enqueued_at, now);
        if until.is_none_or(|until| until > now) {
            let version = job.spec.version.unwrap_or(0);
            self.record_completion(id, CompletionRecord { end, until, version, ended_at: now });
        }
        if matches!(end, End::Revoked | End::RevokedAfterLeaseExpiry | End::Deleted) {
            self.free_unique(id, job);
        }
        let total = match end {
            End::Done => &mut self.totals.done,
            End::Expired => &mut self.totals.expired,
            End::Discarded => &mut self.totals.discarded,
            End::Deleted => &mut self.totals.deleted,
            End::Revoked | End::RevokedAfterLeaseExpiry => &mut self.totals.revoked,
        };
        *total += 1;
    }

    /// Deletes a job.
    pub(crate) fn delete_one(&mut self, now: u64, id: JobId) -> bool {
        let Some(job) = self.take(id) else { return false };
        self.end(id, &job, End::Deleted, now);
        true
    }

    /// Releases a unique key, if this job still owns it.
    pub(crate) fn free_unique(&mut self, id: JobId, job: &Job) {
        if let Some(unique) = job.spec.unique
            && self.unique.get(&unique.key).is_some_and(|(_, owner)| *owner == id)
        {
            self.unique.remove(&unique.key);
        }
    }

    /// Ends a job that failed permanently: dead-letters or discards it.
    pub(crate) fn dead_letter(&mut self, id: JobId, mut job: Box<Job>, discard: bool, now: u64) -> Verdict {
        if discard {
            self.end(id, &job, End::Discarded, now);
            return Verdict::Discarded;
        }
        job.token = None;
        job.alone = false;
        stop(&mut job);
        self.place(id, job, State::Dead, now);
        self.totals.died += 1;
        Verdict::Died
    }

    /// The next time at which a job can be claimed.
    pub(crate) fn next(&self, now: u64) -> Next {
        let due = match self.paused(now) {
            Some(u64::MAX) => None,
            Some(until) => self.earliest().map(|due| due.max(until)),
            None => self.earliest(),
        };
        Next { now, due }
    }

    /// The end of a pause, if the shard is paused.
    pub(crate) fn paused(&self, now: u64) -> Option<u64> {
        self.paused_until.filter(|until| *until > now)
    }

    /// The earliest due time of the waiting jobs.
    pub(crate) fn earliest(&self) -> Option<u64> {
        self.due.iter().filter_map(|index| index.first()).map(|(due, _)| *due).min()
    }

    /// How many waiting jobs are due, counted up to `limit`.
    pub(crate) fn ready(&self, now: u64, limit: usize) -> usize {
        let due = self.due.iter().flat_map(|index| index.iter().take_while(|(due, _)| *due <= now));
        due.take(limit).count()
    }

    /// Adds markers for the priorities to which the call has added jobs.
    pub(crate) fn announce(&mut self, now: u64) {
        let priorities: BTreeSet<usize> = self.added.iter().map(|(priority, _)| *priority).collect();
        self.leave_markers(now, priorities);
    }

    /// Adds markers for these priorities: one for each job that is due, and one if a job that the call has added is the first of its
    /// priority.
    pub(crate) fn leave_markers(&mut self, now: u64, priorities: impl IntoIterator<Item = usize>) {
        let added = std::mem::take(&mut self.added);
        if self.paused(now).is_some() {
            return;
        }
        let most = usize::try_from(MARKERS_MAX).unwrap_or(usize::MAX);
        let (mut ready, mut is_first) = (0, false);
        for priority in priorities {
            let index = &self.due[priority];
            let due = index.iter().take_while(|(due, _)| *due <= now).take(most).count();
            is_first |= due == 0 && index.first().is_some_and(|(_, id)| added.contains(&(priority, *id)));
            ready += due;
        }
        let ready = u64::try_from(ready.min(most)).unwrap_or(MARKERS_MAX);
        self.markers = self.markers.max(ready).max(u64::from(is_first));
    }

    /// Waiting and leased jobs.
    pub(crate) fn working(&self) -> u64 {
        let waiting: usize = self.due.iter().map(Index::len).sum();
        u64::try_from(waiting + self.leased.len()).unwrap_or(u64::MAX)
    }

    pub(crate) fn index(&mut self, state: State) -> &mut Index {
        match state {
            State::Waiting(priority) => &mut self.due[priority as usize],
            State::Leased => &mut self.leased,
            State::Dead => &mut self.dead,
        }
    }

    /// Records a worker's call.
    pub(crate) fn record_call(&mut self, worker: Worker, lease_now: u64) {
        self.workers.insert(worker, lease_now);
    }

    /// The number of workers that sent a call within the last minute.
    pub(crate) fn counted_workers(&self, lease_now: u64) -> u64 {
        let is_counted = |seen: u64| seen + WORKER_COUNTED_MS > lease_now || !guard("model_counts_live_workers");
        u64::try_from(self.workers.values().filter(|seen| is_counted(**seen)).count()).unwrap_or(u64::MAX)
    }

    /// Removes some expired records, which no step reads any more (in Redis these keys expire).
    pub(crate) fn sweep(&mut self, now: u64) {
        let most = if guard("model_forgets_enough") { SWEEP_MAX } else { 16 };
        for _ in 0..most {
            let run_out = self.expiries.first().filter(|(until, _)| until + SWEEP_LAG_MS <= now);
            let Some((until, expiring)) = run_out.cloned() else { return };
            self.expiries.remove(&(until, expiring.clone()));
            match expiring {
                Expiring::CompletionRecord(id) => {
                    if matches!(self.records.get(&id), Some(Record::Ended(completion)) if completion.until == Some(until))
                    {
                        self.records.remove(&id);
                    }
                }
                Expiring::Unique(key) => {
                    if self.unique.get(&key).is_some_and(|(held_until, _)| *held_until == until) {
                        self.unique.remove(&key);
                    }
                }
                Expiring::Redrive(redrive) => {
                    if self.redrives.get(&redrive).is_some_and(|kept| kept.retain_until == until) {
                        self.redrives.remove(&redrive);
                    }
                }
            }
        }
    }

    /// Whether it equals an unused shard. Its counters are not considered.
    pub(crate) fn is_empty(&self, now: u64) -> bool {
        let is_silent = |seen: &u64| seen + WORKER_SILENT_MS <= now + self.back;
        let holds_nothing = self.records.is_empty() && self.expiries.is_empty() && self.unique.is_empty();
        let has_no_settings =
            self.schedules.is_empty() && self.paused(now).is_none() && self.limits == Limits::default();
        let is_whole = self.shards.is_none() && self.leaving.is_empty() && self.last_received.is_empty();
        holds_nothing && has_no_settings && is_whole && self.fence_floor == 0 && self.workers.values().all(is_silent)
    }

    /// Stores a completion record.
    pub(crate) fn record_completion(&mut self, id: JobId, completion: CompletionRecord) {
        if let Some(until) = completion.until {
            self.expiries.insert((until, Expiring::CompletionRecord(id)));
        }
        self.records.insert(id, Record::Ended(completion));
    }
}

/// Ends the current delivery of a job. One that has started is not dropped for being late.
pub(crate) fn stop(job: &mut Job) {
    if job.started && guard("model_started_is_not_late") {
        job.expires_at = None;
    }
    (job.started, job.shielded) = (false, false);
}

/// Adds an error to a job's history; the newest [`ERRORS_KEPT_MAX`] are kept.
pub(crate) fn note_error(job: &mut Job, at: u64, class: ErrorClass, text: &Bytes) {
    if job.error_notes().count() >= ERRORS_KEPT_MAX
        && let Some(oldest) = job.spec.notes.iter().position(|note| matches!(note, Note::Error(_)))
    {
        job.spec.notes.remove(oldest);
    }
    let attempt = if class == ErrorClass::LeaseExpired { 0 } else { job.errors };
    job.spec.notes.push(Note::Error(ErrorNote { at, class, attempt, text: text.clone() }));
}

/// When the completion record expires; `None`: not before `forget`. That of a revocation has a minimum retention.
pub(crate) fn retain_until(retention: Retention, end: End, enqueued_at: u64, now: u64) -> Option<u64> {
    let until = match retention {
        Retention::Nothing => 0,
        Retention::AfterEnd(window) => now + window,
        Retention::FromEnqueue(window) => enqueued_at + window,
        Retention::UntilForgotten => return None,
    };
    let revoked = matches!(end, End::Revoked | End::RevokedAfterLeaseExpiry);
    Some(if revoked { until.max(now + REVOKE_MS_MIN) } else { until })
}

pub(crate) fn size(job: &Job) -> u64 {
    u64::try_from(encoded_len(job)).unwrap_or(u64::MAX)
}
