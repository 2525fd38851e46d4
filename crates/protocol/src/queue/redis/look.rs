//! The replies of the steps that read without bodies, and of `amend`.

use super::bulk::SHARED_BYTES_MAX;
use super::reply::{count, parts, state, unexpected};
use super::{RedisQueue, call, reply, scripts};
use crate::queue::error::QueueError;
use crate::queue::job::{End, JobId};
use crate::queue::record::{Record, Unreadable};
use crate::queue::steps::{Amended, JobPosition, Kept, Preview, Shard};
use crate::reply::{array, bulk, integer, unsigned};
use evenkeel_link::Token;
use redis::Value;

/// What a preview has besides a body and two texts.
const AROUND_BYTES: usize = 256;

/// Reads some jobs without most of their bodies. A large reply does not use the shared connection.
pub(crate) async fn previews(
    queue: &RedisQueue,
    shard: &Shard,
    ids: &[JobId],
    bytes: usize,
) -> Result<Vec<Option<Preview>>, QueueError> {
    let args = call::previews(ids, bytes);
    let size = ids.len() * (AROUND_BYTES + 3 * bytes);
    let reply = if size > SHARED_BYTES_MAX {
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        queue.bulk.run(&queue.link, &scripts::PREVIEWS, shard, &args, size).await?
    } else {
        queue.run(&scripts::PREVIEWS, shard, args).await?
    };
    array(reply)?.into_iter().map(preview).collect()
}

fn preview(reply: Value) -> Result<Option<Preview>, QueueError> {
    if reply == Value::Nil {
        return Ok(None);
    }
    let [record, index, score, body_bytes] = parts(reply)?;
    let index = integer(&index)?;
    if index == -2 {
        return Ok(Some(Preview::Unreadable(Unreadable::unknown_format())));
    }
    Ok(Some(match Record::decode(&bulk(record)?) {
        Err(unreadable) => Preview::Unreadable(unreadable),
        Ok(Record::Ended(completion)) => Preview::Ended(completion),
        Ok(Record::Live(job)) => {
            let (state, score, body_bytes) = (state(index)?, unsigned(&score)?, unsigned(&body_bytes)?);
            Preview::Live { state, score, job, body_bytes }
        }
    }))
}

pub(crate) fn position(reply: Value) -> Result<JobPosition, QueueError> {
    let [now, lease_now, paused, workers, before, job] = parts(reply)?;
    let until = |until: u64| if until >= reply::FOREVER { u64::MAX } else { until };
    Ok(JobPosition {
        now: unsigned(&now)?,
        lease_now: unsigned(&lease_now)?,
        paused_until: u64::try_from(integer(&paused)?).ok().map(until),
        workers: unsigned(&workers)?,
        before: unsigned(&before)?,
        job: preview(job)?,
    })
}

/// Sequence (8) and token (16) are the first fields of a kept reply.
pub(crate) fn kept(reply: Value) -> Result<Option<Kept>, QueueError> {
    if reply == Value::Nil {
        return Ok(None);
    }
    let answer = bulk(reply)?;
    let fields = answer.get(..8).zip(answer.get(8..24)).ok_or_else(|| unexpected("a kept reply"))?;
    let sequence = fields.0.try_into().map(u64::from_be_bytes).map_err(|_| unexpected("a kept reply"))?;
    let token: [u8; 16] = fields.1.try_into().map_err(|_| unexpected("a kept reply"))?;
    Ok(Some(Kept { sequence, token: Token::from(token) }))
}

pub(crate) fn amend(reply: &Value) -> Result<Amended, QueueError> {
    Ok(match count(reply)? {
        0 => Amended::Unknown,
        1 => Amended::Changed,
        2 => Amended::Other,
        3 => Amended::NotDead,
        4 => Amended::Full,
        code => {
            let end = code.checked_sub(16).and_then(|code| u8::try_from(code).ok()).and_then(End::from_code);
            Amended::Ended(end.ok_or_else(|| unexpected("amend"))?)
        }
    })
}
