//! The encoding of effects: one byte of version, then each effect with its kind and its fields. Numbers are big-endian; bytes and
//! text are preceded by their length (4 bytes). docs/spec/unit-of-work.md has the table.

#[cfg(feature = "cache")]
mod invalidate;
#[cfg(feature = "queue")]
mod job;

use super::effect::{Effect, Message};
use crate::sql::error::SqlError;
use bytes::{Buf, BufMut, Bytes};
use std::collections::BTreeMap;

const VERSION: u8 = 1;

const INVALIDATE: u8 = 1;
const PUT_JOB: u8 = 2;
const WITHDRAW_JOB: u8 = 3;
const PUBLISH: u8 = 4;

type Read<T> = Result<T, SqlError>;

/// Encodes all unordered effects of a unit of work.
pub(crate) fn encode(effects: &[Effect]) -> Vec<u8> {
    let mut out = vec![VERSION];
    for effect in effects {
        match effect {
            #[cfg(feature = "cache")]
            Effect::Invalidate(invalidate) => invalidate::encode(&mut out, invalidate),
            #[cfg(feature = "queue")]
            Effect::Put(put) => job::encode(&mut out, put),
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
            #[cfg(feature = "cache")]
            INVALIDATE => Effect::Invalidate(invalidate::decode(&mut from)?),
            #[cfg(not(feature = "cache"))]
            INVALIDATE => {
                return Err(SqlError::Unreadable("an invalidation: build this program with the feature `cache`"));
            }
            #[cfg(feature = "queue")]
            PUT_JOB => Effect::Put(job::decode(&mut from)?),
            #[cfg(feature = "queue")]
            WITHDRAW_JOB => Effect::Put(job::decode_withdrawal(&mut from)?),
            #[cfg(not(feature = "queue"))]
            PUT_JOB | WITHDRAW_JOB => {
                return Err(SqlError::Unreadable("a job: build this program with the feature `queue`"));
            }
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

#[cfg(any(feature = "cache", feature = "queue"))]
fn get_u64(from: &mut Bytes) -> Read<u64> {
    from.try_get_u64().map_err(|_| CUT_OFF)
}

#[cfg(all(test, feature = "cache", feature = "queue"))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::*;
    use crate::cache::Demand;
    use crate::queue::{JobOperation, JobPut};
    use crate::sql::outbox::effect::Invalidate;
    use evenkeel_protocol::cache::steps::Mode;
    use evenkeel_protocol::queue::job::{JobId, JobSpec, Retention};

    fn one_of_each() -> Vec<Effect> {
        let demand = Demand { mode: Mode::Expire { retain_ms: 500 }, floor: Some(8), lag_ms_max: 3 };
        let invalidate = Invalidate { cache: "user".to_owned(), key: Bytes::from_static(b"42"), demand, window: true };
        let purge = Invalidate { demand: Mode::Purge.into(), window: false, ..invalidate.clone() };
        let spec = JobSpec { version: Some(7), ..JobSpec::new(Bytes::from_static(b"welcome")) };
        let run = JobOperation::Run { due_at: 1_700_000_000_000, spec: Box::new(spec) };
        let job = JobPut {
            topic: "mail".to_owned(),
            shards: 4,
            id: JobId([9; 16]),
            version: 7,
            operation: run,
            row_decides: false,
        };
        let gone = JobPut { operation: JobOperation::Withdraw(Retention::AfterEnd(60_000)), ..job.clone() };
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

    // shows: sql::effects_again
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
