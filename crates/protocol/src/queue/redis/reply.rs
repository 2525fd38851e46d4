//! Decodes the replies of the scripts.

use crate::queue::error::QueueError;
use crate::queue::job::{End, JobId, Priority};
use crate::queue::record::{Record, Unreadable};
use crate::queue::steps::{
    Claimed, Delivered, Enqueued, Fate, Found, Head, Listed, Looked, Next, PutAnswer, Receipt, RedriveVerdict,
    Redriven, Rescheduled, Rescued, Revoked, Settled, State, Stats, Ticked, Totals, Verdict,
};
use crate::reply::{array, bulk, integer, unsigned};
use evenkeel_link::{LinkError, Token};
use redis::Value;

type Parsed<T> = Result<T, QueueError>;

/// The scripts' value for "until resumed" and "no limit".
pub(crate) const FOREVER: u64 = (1 << 53) - 1;

/// The names of the bytes and of the counters, in the order of [`Totals`].
pub(crate) const TOTALS: [&str; 13] = [
    "bytes",
    "created",
    "done",
    "retried",
    "lapsed",
    "crashed",
    "died",
    "expired",
    "discarded",
    "revoked",
    "redriven",
    "deleted",
    "ghosts",
];

pub(crate) fn enqueue(reply: Value) -> Parsed<Vec<Enqueued>> {
    array(reply)?.into_iter().map(|item| enqueued(&bulk(item)?)).collect()
}

fn enqueued(answer: &[u8]) -> Parsed<Enqueued> {
    match answer {
        [1] => Ok(Enqueued::Created),
        [2] => Ok(Enqueued::Duplicate),
        [3, owner @ ..] => Ok(Enqueued::Taken(job_id(owner)?)),
        [4] => Ok(Enqueued::Dead),
        [5, how] => Ok(Enqueued::Ended(end(*how)?)),
        [6] => Ok(Enqueued::Full),
        [7] => Ok(Enqueued::Elsewhere),
        _ => Err(unexpected("enqueue")),
    }
}

pub(crate) fn put(reply: Value) -> Parsed<Vec<PutAnswer>> {
    let answers = [PutAnswer::Superseded, PutAnswer::Applied, PutAnswer::Elsewhere];
    array(reply)?.into_iter().map(|item| coded(&answers, unsigned(&item)?, "put")).collect()
}

pub(crate) fn tick(reply: Value) -> Parsed<Ticked> {
    match reply {
        Value::Int(1) => Ok(Ticked::Moved),
        Value::Int(0) => Ok(Ticked::OtherShard),
        Value::Nil => Ok(Ticked::Elsewhere(None)),
        last => Ok(Ticked::Elsewhere(Some(unsigned(&last)?))),
    }
}

/// `token` is the token of the call, which all its deliveries have.
pub(crate) fn settle_and_claim(reply: Value, token: Token) -> Parsed<Settled> {
    if reply == Value::Nil {
        return Ok(Settled::Stale);
    }
    let [verdicts, now, due, deliveries] = parts(reply)?;
    let all = [Verdict::Lost, Verdict::Settled, Verdict::Died, Verdict::Discarded];
    let verdict = |code: &u8| coded(&all, u64::from(*code), "settle_and_claim");
    let verdicts = bulk(verdicts)?.iter().map(verdict).collect::<Parsed<_>>()?;
    let next = Next { now: unsigned(&now)?, due: u64::try_from(integer(&due)?).ok() };
    let mut fields = array(deliveries)?.into_iter();
    let mut deliveries = Vec::with_capacity(fields.len() / 5);
    while let Some(id) = fields.next() {
        let mut field = || fields.next().ok_or_else(|| unexpected("settle_and_claim"));
        let (id, fence, due_at) = (job_id(&bulk(id)?)?, unsigned(&field()?)?, unsigned(&field()?)?);
        let lease_left_ms = unsigned(&field()?)?;
        let (record, more) = match field()? {
            Value::Array(parts) => {
                let [head, size] = <[Value; 2]>::try_from(parts).map_err(|_| unexpected("settle_and_claim"))?;
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
        deliveries.push(Delivered { receipt: Receipt { id, token, fence }, due_at, lease_left_ms, job, more });
    }
    Ok(Settled::Done(Claimed { verdicts, deliveries, next }))
}

/// The value with this code: its index in `values`.
fn coded<T: Copy>(values: &[T], code: u64, step: &str) -> Parsed<T> {
    usize::try_from(code).ok().and_then(|code| values.get(code)).copied().ok_or_else(|| unexpected(step))
}

/// One byte per item: 1 is true.
pub(crate) fn flags(reply: Value) -> Parsed<Vec<bool>> {
    Ok(bulk(reply)?.iter().map(|flag| *flag == 1).collect())
}

pub(crate) fn revoke(reply: Value) -> Parsed<Vec<Revoked>> {
    let answer = |code: &u8| match code {
        0 => Ok(Revoked::Unknown),
        1 => Ok(Revoked::Revoked),
        2 => Ok(Revoked::RevokedAfterLeaseExpiry),
        3 => Ok(Revoked::Running),
        4 => Ok(Revoked::Dead),
        code => end(code.wrapping_sub(16)).map(Revoked::Ended),
    };
    bulk(reply)?.iter().map(answer).collect()
}

pub(crate) fn reschedule(reply: Value) -> Parsed<Vec<Rescheduled>> {
    let answer = |code: &u8| match code {
        0 => Ok(Rescheduled::Unknown),
        1 => Ok(Rescheduled::Changed),
        2 => Ok(Rescheduled::ChangedAfterLeaseExpiry),
        3 => Ok(Rescheduled::Running),
        4 => Ok(Rescheduled::Dead),
        5 => Ok(Rescheduled::Full),
        code => end(code.wrapping_sub(16)).map(Rescheduled::Ended),
    };
    bulk(reply)?.iter().map(answer).collect()
}

pub(crate) fn rescue(reply: Value) -> Parsed<Rescued> {
    let [jobs, next_lease_expiry] = parts(reply)?;
    let jobs = bulk(jobs)?;
    let jobs = jobs.chunks(17).map(|item| Ok((job_id(&item[..item.len() - 1])?, fate(item[item.len() - 1])?)));
    Ok(Rescued {
        jobs: jobs.collect::<Parsed<_>>()?,
        next_lease_expiry_ms: u64::try_from(integer(&next_lease_expiry)?).ok(),
    })
}

fn fate(code: u8) -> Parsed<Fate> {
    let all = [Fate::LeaseExpired, Fate::Crashed, Fate::Died, Fate::Discarded];
    coded(&all, u64::from(code).wrapping_sub(1), "rescue")
}

pub(crate) fn redrive(reply: Value) -> Parsed<Redriven> {
    let [cutoff, filter, taken, verdicts] = parts(reply)?;
    let all = [RedriveVerdict::NotDead, RedriveVerdict::Taken, RedriveVerdict::TakenBefore, RedriveVerdict::DiedLater];
    let verdict = |code: &u8| coded(&all, u64::from(*code), "redrive");
    Ok(Redriven {
        cutoff: unsigned(&cutoff)?,
        filter: bulk(filter)?,
        taken: unsigned(&taken)?,
        verdicts: bulk(verdicts)?.iter().map(verdict).collect::<Parsed<_>>()?,
    })
}

pub(crate) fn count(reply: &Value) -> Parsed<u64> {
    Ok(unsigned(reply)?)
}

/// A reply of `jobs` for one id: the job, or the size of a record that did not fit into the reply.
pub(crate) enum JobReply {
    Looked(Looked),
    Left(u64),
}

pub(crate) fn jobs(reply: Value) -> Parsed<Vec<JobReply>> {
    let answered = |item| match item {
        Value::Int(size) => Ok(JobReply::Left(unsigned(&Value::Int(size))?)),
        item => looked(item).map(JobReply::Looked),
    };
    array(reply)?.into_iter().map(answered).collect()
}

fn looked(reply: Value) -> Parsed<Looked> {
    if reply == Value::Nil {
        return Ok(Ok(None));
    }
    let [raw, index, score] = parts(reply)?;
    Ok(match Record::decode(&bulk(raw)?) {
        Err(unreadable) => Err(unreadable),
        Ok(Record::Ended(completion)) => Ok(Some(Found::Ended(completion))),
        Ok(Record::Live(job)) => {
            Ok(Some(Found::Live { state: state(integer(&index)?)?, score: unsigned(&score)?, job }))
        }
    })
}

pub(crate) fn heads(reply: Value) -> Parsed<Vec<Option<Head>>> {
    array(reply)?.into_iter().map(head).collect()
}

fn head(reply: Value) -> Parsed<Option<Head>> {
    if reply == Value::Nil {
        return Ok(None);
    }
    let [index, score, version, lease_expired] = parts(reply)?;
    let lease_expired = integer(&lease_expired)? == 1;
    let (index, score, version) = (integer(&index)?, unsigned(&score)?, bulk(version)?);
    let version = version.as_ref().try_into().map(u64::from_be_bytes).map_err(|_| unexpected("heads"))?;
    Ok(Some(match index {
        -1 => {
            let end = u8::try_from(score).ok().and_then(End::from_code).ok_or_else(|| unexpected("heads"))?;
            Head::Ended { end, version }
        }
        -2 => Head::Unreadable,
        index => Head::Live { state: state(index)?, score, version, lease_expired },
    }))
}

pub(crate) fn list(reply: Value) -> Parsed<Vec<Listed>> {
    let mut fields = array(reply)?.into_iter();
    let mut listed = Vec::with_capacity(fields.len() / 2);
    while let (Some(id), Some(score)) = (fields.next(), fields.next()) {
        listed.push(Listed { id: job_id(&bulk(id)?)?, score: unsigned(&score)? });
    }
    Ok(listed)
}

pub(crate) fn stats(reply: Value) -> Parsed<Stats> {
    let figures = array(reply)?.iter().map(integer).collect::<Result<Vec<i64>, _>>()?;
    let figures: [i64; 26] = figures.try_into().map_err(|_| unexpected("stats"))?;
    let optional = |at: usize| u64::try_from(figures[at]).ok();
    let at = |at: usize| optional(at).unwrap_or(0);
    Ok(Stats {
        now: at(0),
        waiting: [at(1), at(2), at(3), at(4)],
        ready: at(5),
        oldest_due: optional(6),
        leased: at(7),
        lease_expired: at(8),
        dead: at(9),
        workers: at(10),
        markers: at(11),
        paused_until: optional(12).map(|until| if until >= FOREVER { u64::MAX } else { until }),
        bytes: at(13),
        totals: Totals {
            created: at(14),
            done: at(15),
            retried: at(16),
            lease_expired: at(17),
            crashed: at(18),
            died: at(19),
            expired: at(20),
            discarded: at(21),
            revoked: at(22),
            redriven: at(23),
            deleted: at(24),
            ghosts: at(25),
        },
    })
}

/// Whether `ZPOPMIN` returned an element.
pub(crate) fn popped(reply: Value) -> Parsed<bool> {
    Ok(!array(reply)?.is_empty())
}

pub(crate) fn state(index: i64) -> Parsed<State> {
    match index {
        0..=3 => Ok(State::Waiting(Priority::ALL[usize::try_from(index).unwrap_or(0)])),
        4 => Ok(State::Leased),
        5 => Ok(State::Dead),
        _ => Err(unexpected("job")),
    }
}

fn end(code: u8) -> Parsed<End> {
    End::from_code(code).ok_or_else(|| unexpected("a completion record"))
}

pub(crate) fn job_id(bytes: &[u8]) -> Parsed<JobId> {
    bytes.try_into().map(JobId).map_err(|_| unexpected("a job id"))
}

pub(crate) fn parts<const N: usize>(reply: Value) -> Parsed<[Value; N]> {
    array(reply)?.try_into().map_err(|_| unexpected("a reply"))
}

pub(crate) fn unexpected(what: &str) -> QueueError {
    QueueError::Link(LinkError::Unexpected(format!("{what} of the queue's scripts")))
}
