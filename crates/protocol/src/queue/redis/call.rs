//! The arguments of the scripts.

use crate::args::Args;
use crate::queue::job::{FORGET_MS, Job, JobId, JobSpec};
use crate::queue::record::{codec_flags, encode_job, named_codec};
use crate::queue::steps::{
    Amend, CRASH_DELAY_MS_MAX, Heartbeat, Listed, NewJob, Outcome, Put, PutChange, Receipt, Redrive, Reschedule,
    Rescue, Restored, SettleAndClaim, State, Tick, WORKER_SILENT_MS, When,
};
use bytes::Bytes;

/// How long a redrive is stored after its last call.
const REDRIVE_RETENTION_MS: u64 = 7 * 24 * 3_600_000;

impl Args {
    fn when(self, when: When) -> Self {
        self.bytes(match when {
            When::At(at) => at.to_string(),
            When::In(delay) => format!("+{delay}"),
        })
    }
}

pub(crate) fn ids(ids: &[JobId]) -> Args {
    ids.iter().fold(Args::default(), |args, id| args.bytes(id.0))
}

/// `whole`: regardless of the size of the reply.
pub(crate) fn jobs(ids: &[JobId], whole: bool) -> Args {
    ids.iter().fold(Args::default().bytes(if whole { "1" } else { "" }), |args, id| args.bytes(id.0))
}

pub(crate) fn enqueue(jobs: &[NewJob]) -> Args {
    jobs.iter().fold(Args::default(), |args, job| args.bytes(job.id.0).when(job.when).bytes(record(job.spec.clone())))
}

pub(crate) fn put(puts: &[Put]) -> Args {
    puts.iter().fold(Args::default(), |args, put| {
        let args = args.bytes(put.id.0).bytes(put.version.to_be_bytes());
        match &put.change {
            PutChange::Job(when, spec) => {
                args.when(*when).bytes(record(JobSpec { version: Some(put.version), ..(**spec).clone() }))
            }
            PutChange::Restored(restored) => {
                let Restored { spec, errors, is_dead, at } = &**restored;
                let spec = JobSpec { version: Some(put.version), ..spec.clone() };
                let record = encode_job(&Job { errors: *errors, ..Job::accepted(spec, 0, 0) });
                let args = if *is_dead { args.bytes(format!("!{at}")) } else { args.when(When::At(*at)) };
                args.bytes(record)
            }
            PutChange::Withdraw(retention) => {
                let (rule, window) = retention.rule();
                args.bytes("").bytes([&[rule], &window.to_be_bytes()[2..]].concat())
            }
        }
    })
}

/// A record as the sender encodes it; the script fills in the server's fields.
fn record(spec: JobSpec) -> Bytes {
    encode_job(&Job::accepted(spec, 0, 0))
}

pub(crate) fn tick(tick: &Tick) -> Args {
    let args = Args::default().bytes(tick.schedule);
    let args = match tick.seen {
        Some(seen) => args.number(seen),
        None => args.bytes(""),
    };
    let jobs = tick.jobs.iter();
    jobs.fold(args.number(tick.last), |args, job| args.bytes(job.id.0).when(job.when).bytes(record(job.spec.clone())))
}

pub(crate) fn settle_and_claim(call: &SettleAndClaim) -> Args {
    let args = Args::default()
        .bytes(call.worker.0)
        .number(call.sequence)
        .number(call.lease_ms)
        .size(call.limit)
        .bytes(call.token.as_bytes())
        .number(call.fence_floor)
        .number(call.room.slots.into())
        .number(call.room.level.into())
        .number(call.room.running.into());
    call.settlements.iter().fold(args, |args, (receipt, outcome)| args.bytes(settlement(receipt, outcome)))
}

fn settlement(receipt: &Receipt, outcome: &Outcome) -> Vec<u8> {
    let (kind, delay, text): (u8, u64, &[u8]) = match outcome {
        Outcome::Done => (0, 0, &[]),
        Outcome::Failed { retry_ms, error } => (1, *retry_ms, error),
        Outcome::Snoozed { after_ms } => (2, *after_ms, &[]),
        Outcome::Released => (3, 0, &[]),
        Outcome::Dead { reason } => (4, 0, reason),
    };
    [&[kind], &delivery(receipt)[..], &delay.to_be_bytes()[2..], text].concat()
}

fn delivery(receipt: &Receipt) -> Vec<u8> {
    [&receipt.id.0[..], &receipt.fence.to_be_bytes(), receipt.token.as_bytes()].concat()
}

pub(crate) fn heartbeat(heartbeat: &Heartbeat) -> Args {
    let args = Args::default().bytes(heartbeat.worker.0).number(heartbeat.lease_ms);
    heartbeat.deliveries.iter().fold(args, |args, (receipt, report)| {
        let mut item = delivery(receipt);
        item.push(u8::from(report.is_started) + 2 * u8::from(report.is_shielded) + 4 * u8::from(report.is_alone));
        args.bytes(item)
    })
}

pub(crate) fn progress(receipt: &Receipt, progress: &[u8]) -> Args {
    Args::default().bytes(delivery(receipt)).bytes(progress)
}

pub(crate) fn reschedule(changes: &[Reschedule]) -> Args {
    changes.iter().fold(Args::default(), |args, change| {
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
    })
}

pub(crate) fn rescue(rescue: Rescue) -> Args {
    Args::default()
        .size(rescue.limit)
        .number(rescue.crash_max.into())
        .number(rescue.crash_delay_ms)
        .number(CRASH_DELAY_MS_MAX)
        .number(WORKER_SILENT_MS)
        .number(rescue.row_decides.into())
}

pub(crate) fn redrive(call: &Redrive) -> Args {
    let args =
        Args::default().bytes(call.redrive).bytes(&call.filter).number(call.delay_ms).number(REDRIVE_RETENTION_MS);
    call.ids.iter().fold(args, |args, id| args.bytes(id.0))
}

pub(crate) fn forget(ids: &[JobId]) -> Args {
    ids.iter().fold(Args::default().number(FORGET_MS), |args, id| args.bytes(id.0))
}

pub(crate) fn purge(state: State, limit: usize) -> Args {
    Args::default().number(index(state).into()).size(limit)
}

pub(crate) fn amend(amend: &Amend) -> Args {
    let name = named_codec(amend.codec);
    let args = Args::default().bytes(amend.id.0).number(codec_flags(amend.codec).into()).bytes(name.as_slice());
    args.bytes(&amend.seen).bytes(&amend.body)
}

pub(crate) fn previews(ids: &[JobId], bytes: usize) -> Args {
    ids.iter().fold(Args::default().size(bytes), |args, id| args.bytes(id.0))
}

pub(crate) fn position(id: JobId, bytes: usize) -> Args {
    Args::default().bytes(id.0).size(bytes)
}

pub(crate) fn list(state: State, descends: bool, after: Option<Listed>, limit: usize) -> Args {
    let args = Args::default().number(index(state).into()).size(limit).bytes(if descends { "1" } else { "" });
    match after {
        Some(after) => args.number(after.score).bytes(after.id.0),
        None => args,
    }
}

pub(crate) fn names(names: &[&'static str]) -> Args {
    names.iter().fold(Args::default(), |args, name| args.bytes(*name))
}

/// The number of an index in the scripts.
fn index(state: State) -> u8 {
    match state {
        State::Waiting(priority) => priority as u8,
        State::Leased => 4,
        State::Dead => 5,
    }
}
