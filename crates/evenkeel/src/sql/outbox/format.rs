//! The encoding of effects: one byte of version, then each effect with its kind and its fields. Numbers are big-endian; bytes and
//! text are preceded by their length (4 bytes). docs/spec/unit-of-work.md has the table.

use super::effect::{Effect, Invalidate, Message};
use crate::cache::Demand;
use crate::queue::{JobPut, JobWish};
use crate::sql::error::SqlError;
use bytes::{Buf, BufMut, Bytes};
use evenkeel_protocol::cache::steps::Mode;
use evenkeel_protocol::queue::job::{JobId, Keep};
use evenkeel_protocol::queue::record::Record;
use std::collections::BTreeMap;

const VERSION: u8 = 1;

const INVALIDATE: u8 = 1;
const PUT_JOB: u8 = 2;
const WITHDRAW_JOB: u8 = 3;
const PUBLISH: u8 = 4;

const HAS_WINDOW: u8 = 0b001;
const IS_PURGE: u8 = 0b010;
const HAS_FLOOR: u8 = 0b100;

type Read<T> = Result<T, SqlError>;

/// Encodes all unordered effects of a unit of work.
pub(crate) fn encode(effects: &[Effect]) -> Vec<u8> {
    let mut out = vec![VERSION];
    for effect in effects {
        match effect {
            Effect::Invalidate(invalidate) => put_invalidate(&mut out, invalidate),
            Effect::Put(put) => put_job(&mut out, put),
            Effect::Publish(message) => {
                out.put_u8(PUBLISH);
                put_bytes(&mut out, message.topic.as_bytes());
                put_bytes(&mut out, &message.payload);
                put_bytes(&mut out, &encode_headers(&message.headers));
            }
        }
    }
    out
}

/// Decodes effects.
pub(crate) fn decode(bytes: impl Into<Bytes>) -> Read<Vec<Effect>> {
    let mut from = bytes.into();
    if from.try_get_u8() != Ok(VERSION) {
        return Err(SqlError::Unreadable("unknown version"));
    }
    let mut effects = Vec::new();
    while from.has_remaining() {
        effects.push(match from.get_u8() {
            INVALIDATE => Effect::Invalidate(get_invalidate(&mut from)?),
            PUT_JOB => Effect::Put(get_job(&mut from)?),
            WITHDRAW_JOB => Effect::Put(get_withdrawal(&mut from)?),
            PUBLISH => Effect::Publish(Message {
                topic: get_text(&mut from)?,
                key: None,
                payload: get_bytes(&mut from)?,
                headers: decode_headers(get_bytes(&mut from)?)?,
            }),
            _ => return Err(SqlError::Unreadable("unknown kind of effect")),
        });
    }
    Ok(effects)
}

/// Encodes the headers of a message, names and values alternating.
pub(crate) fn encode_headers(headers: &BTreeMap<String, String>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in headers {
        put_bytes(&mut out, name.as_bytes());
        put_bytes(&mut out, value.as_bytes());
    }
    out
}

/// Decodes headers that [`encode_headers`] encoded.
pub(crate) fn decode_headers(bytes: impl Into<Bytes>) -> Read<BTreeMap<String, String>> {
    let mut from = bytes.into();
    let mut headers = BTreeMap::new();
    while from.has_remaining() {
        headers.insert(get_text(&mut from)?, get_text(&mut from)?);
    }
    Ok(headers)
}

fn put_invalidate(out: &mut Vec<u8>, effect: &Invalidate) {
    let Demand { mode, floor, lag_ms_max } = effect.demand;
    let keep_ms = match mode {
        Mode::Expire { keep_ms } => Some(keep_ms),
        Mode::Purge => None,
    };
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    out.put_u8(INVALIDATE);
    out.put_u8(flag(effect.window, HAS_WINDOW) | flag(keep_ms.is_none(), IS_PURGE) | flag(floor.is_some(), HAS_FLOOR));
    out.put_u64(keep_ms.unwrap_or(0));
    out.put_u64(floor.unwrap_or(0));
    out.put_u64(lag_ms_max);
    put_bytes(out, effect.cache.as_bytes());
    put_bytes(out, &effect.key);
}

fn get_invalidate(from: &mut Bytes) -> Read<Invalidate> {
    let flags = from.try_get_u8().map_err(|_| CUT_OFF)?;
    let (keep_ms, floor, lag_ms_max) = (get_u64(from)?, get_u64(from)?, get_u64(from)?);
    let mode = if flags & IS_PURGE == 0 { Mode::Expire { keep_ms } } else { Mode::Purge };
    let demand = Demand { mode, floor: (flags & HAS_FLOOR != 0).then_some(floor), lag_ms_max };
    let cache = get_text(from)?;
    Ok(Invalidate { cache, key: get_bytes(from)?, demand, window: flags & HAS_WINDOW != 0 })
}

fn put_job(out: &mut Vec<u8>, put: &JobPut) {
    out.put_u8(match &put.wish {
        JobWish::Run { .. } => PUT_JOB,
        JobWish::Withdraw(_) => WITHDRAW_JOB,
    });
    put_bytes(out, put.topic.as_bytes());
    out.put_u16(put.shards);
    out.put_slice(&put.id.0);
    out.put_u64(put.version);
    match &put.wish {
        JobWish::Run { due_at, spec } => {
            out.put_u64(*due_at);
            put_bytes(out, &crate::queue::job_record(spec, put.version));
        }
        JobWish::Withdraw(keep) => {
            let (rule, window) = match keep {
                Keep::Nothing => (0, 0),
                Keep::AfterEnd(window) => (1, *window),
                Keep::FromEnqueue(window) => (2, *window),
                Keep::UntilForgotten => (3, 0),
            };
            out.put_u8(rule);
            out.put_u64(window);
        }
    }
}

fn get_job(from: &mut Bytes) -> Read<JobPut> {
    let (topic, shards, id, version) = get_job_name(from)?;
    let due_at = get_u64(from)?;
    let Ok(Record::Live(job)) = Record::decode(&get_bytes(from)?) else {
        return Err(SqlError::Unreadable("a job without a record"));
    };
    Ok(JobPut { topic, shards, id, version, wish: JobWish::Run { due_at, spec: Box::new(job.spec) }, is_judged: false })
}

fn get_withdrawal(from: &mut Bytes) -> Read<JobPut> {
    let (topic, shards, id, version) = get_job_name(from)?;
    let rule = from.try_get_u8().map_err(|_| CUT_OFF)?;
    let window = get_u64(from)?;
    let keep = match rule {
        0 => Keep::Nothing,
        1 => Keep::AfterEnd(window),
        2 => Keep::FromEnqueue(window),
        3 => Keep::UntilForgotten,
        _ => return Err(SqlError::Unreadable("unknown stamp rule")),
    };
    Ok(JobPut { topic, shards, id, version, wish: JobWish::Withdraw(keep), is_judged: false })
}

fn get_job_name(from: &mut Bytes) -> Read<(String, u16, JobId, u64)> {
    let topic = get_text(from)?;
    let shards = from.try_get_u16().map_err(|_| CUT_OFF)?;
    let mut id = [0; 16];
    from.try_copy_to_slice(&mut id).map_err(|_| CUT_OFF)?;
    Ok((topic, shards, JobId(id), get_u64(from)?))
}

const CUT_OFF: SqlError = SqlError::Unreadable("it is truncated");

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    out.put_slice(bytes);
}

fn get_bytes(from: &mut Bytes) -> Read<Bytes> {
    let length = from.try_get_u32().map_err(|_| CUT_OFF)?;
    let length = usize::try_from(length).ok().filter(|length| *length <= from.len()).ok_or(CUT_OFF)?;
    Ok(from.split_to(length))
}

fn get_text(from: &mut Bytes) -> Read<String> {
    String::from_utf8(get_bytes(from)?.into()).map_err(|_| SqlError::Unreadable("a name that is not text"))
}

fn get_u64(from: &mut Bytes) -> Read<u64> {
    from.try_get_u64().map_err(|_| CUT_OFF)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::*;
    use evenkeel_protocol::queue::job::JobSpec;

    fn one_of_each() -> Vec<Effect> {
        let demand = Demand { mode: Mode::Expire { keep_ms: 500 }, floor: Some(8), lag_ms_max: 3 };
        let invalidate = Invalidate { cache: "user".to_owned(), key: Bytes::from_static(b"42"), demand, window: true };
        let purge = Invalidate { demand: Mode::Purge.into(), window: false, ..invalidate.clone() };
        let spec = JobSpec { version: Some(7), ..JobSpec::new(Bytes::from_static(b"welcome")) };
        let run = JobWish::Run { due_at: 1_700_000_000_000, spec: Box::new(spec) };
        let job =
            JobPut { topic: "mail".to_owned(), shards: 4, id: JobId([9; 16]), version: 7, wish: run, is_judged: false };
        let gone = JobPut { wish: JobWish::Withdraw(Keep::AfterEnd(60_000)), ..job.clone() };
        let message = Message::new("orders", "sold").header("type", "order").header("a", "");
        vec![
            Effect::Invalidate(invalidate),
            Effect::Invalidate(purge),
            Effect::Put(job),
            Effect::Put(gone),
            Effect::Publish(message),
        ]
    }

    #[test]
    fn encoded_effect_round_trips() {
        assert_eq!(decode(encode(&one_of_each())).unwrap(), one_of_each());
        assert_eq!(decode(encode(&[])).unwrap(), []);
    }

    #[test]
    fn truncated_or_unknown_effect_is_an_error() {
        let bytes = encode(&one_of_each());
        let whole = |length: usize| decode(bytes[..length].to_vec()).is_ok();
        let ends: Vec<usize> = (1..=bytes.len()).filter(|length| whole(*length)).collect();
        assert_eq!(ends.len(), one_of_each().len() + 1, "only prefixes that end between two effects are valid");
        assert!(decode(vec![2]).is_err(), "a newer version");
        assert!(decode(vec![1, 99]).is_err(), "an unknown kind");
        assert!(decode(Vec::new()).is_err());
    }
}
