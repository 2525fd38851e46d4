//! The record of a job: one string of a 40-byte header, optional fields, the body and the notes; or a completion record.
//!
//! docs/spec/queue.md has the table of offsets. The scripts in `shared/` read and write the same bytes.

mod decode;
mod encode;
mod notes;

pub(crate) use encode::{codec_flags, named_codec};
pub use encode::{encode_job, encoded_len};
pub use notes::{decode_error, encode_error};

use super::job::{CompletionRecord, End, Job};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use decode::decode_job;

/// Length of the fixed header.
pub const HEADER_BYTES: usize = 40;
/// Length of a completion record.
pub const COMPLETION_RECORD_BYTES: usize = 24;

const FORMAT_JOB: u8 = 1;
const FORMAT_COMPLETION_RECORD: u8 = 2;

const FLAG_PRIORITY: u8 = 0b0000_0011;
const FLAG_STARTED: u8 = 0b0000_0100;
const FLAG_DISCARD: u8 = 0b0000_1000;
const FLAG_NOTES: u8 = 0b0001_0000;
const FLAG_LEASE_EXPIRED: u8 = 0b0010_0000;
/// The codec of the body. Neither flag: a record of an older program. Both: the codec's id is the byte before the body.
const FLAGS_CODEC: u8 = 0b1100_0000;
const FLAG_JSON: u8 = 0b0100_0000;
const FLAG_MESSAGE_PACK: u8 = 0b1000_0000;

/// The expiry of a job with a limit of lateness that no longer applies.
const NO_EXPIRY: u64 = (1 << 48) - 1;

const HAS_EXPIRY: u8 = 0b0001;
const HAS_VERSION: u8 = 0b0010;
const HAS_WINDOW: u8 = 0b0100;
const HAS_UNIQUE: u8 = 0b1000;
/// Not a field after the header, but a property of the current delivery.
const IS_SHIELDED: u8 = 0b0001_0000;
const IS_ALONE: u8 = 0b0010_0000;

const RETRIES_UNLIMITED: u16 = u16::MAX;

/// Encodes a completion record.
#[must_use]
pub fn encode_completion(completion: &CompletionRecord) -> Bytes {
    let mut out = BytesMut::with_capacity(COMPLETION_RECORD_BYTES);
    out.put_slice(&[FORMAT_COMPLETION_RECORD, completion.end as u8, 0, 0]);
    out.put_u64(completion.version);
    put_u48(&mut out, completion.ended_at);
    put_u48(&mut out, completion.until.unwrap_or(0));
    out.freeze()
}

/// Bytes that are not a record of this format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of this job cannot be read: {0}")]
pub struct Unreadable(&'static str);

impl Unreadable {
    /// A completion record where a live job was expected.
    pub(crate) fn ended() -> Self {
        Self("a completion record instead of a job")
    }

    /// A format that this program does not support.
    pub(crate) fn unknown_format() -> Self {
        Self("unknown format")
    }
}

/// The content of a `job:<id>` key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A job that waits, runs or is dead.
    Live(Box<Job>),
    /// The completion record of a job.
    Ended(CompletionRecord),
}

impl Record {
    /// Decodes the content of a `job:<id>` key. The body shares the bytes of `raw`.
    ///
    /// # Errors
    /// [`Unreadable`] if the bytes do not have this format.
    pub fn decode(raw: &Bytes) -> Result<Self, Unreadable> {
        match raw.first() {
            Some(&FORMAT_JOB) => decode_job(raw.clone()).map(|job| Record::Live(Box::new(job))),
            Some(&FORMAT_COMPLETION_RECORD) => decode_completion(raw).map(Record::Ended),
            _ => Err(Unreadable::unknown_format()),
        }
    }

    /// Decodes the head of a job's record, without its body and notes.
    ///
    /// # Errors
    /// [`Unreadable`] if it is not a job's record.
    pub fn decode_head(head: &Bytes) -> Result<Self, Unreadable> {
        let mut bytes = head.to_vec();
        if let Some(flags) = bytes.get_mut(1) {
            *flags &= !FLAG_NOTES;
        }
        let record = Self::decode(&bytes.into())?;
        Ok(match record {
            Self::Live(mut job) => {
                job.spec.body = Bytes::new();
                Self::Live(job)
            }
            ended => ended,
        })
    }
}

fn decode_completion(mut raw: &[u8]) -> Result<CompletionRecord, Unreadable> {
    if raw.len() != COMPLETION_RECORD_BYTES {
        return Err(Unreadable("a completion record of another length"));
    }
    let end = End::from_code(raw[1]).ok_or(Unreadable("unknown end"))?;
    raw.advance(4);
    let version = raw.get_u64();
    let ended_at = get_u48(&mut raw)?;
    let until = get_u48(&mut raw)?;
    Ok(CompletionRecord { end, until: (until != 0).then_some(until), version, ended_at })
}

fn put_u48(out: &mut BytesMut, number: u64) {
    out.put_slice(&number.to_be_bytes()[2..]);
}

fn get_u48(from: &mut impl Buf) -> Result<u64, Unreadable> {
    from.try_get_uint(6).map_err(|_| Unreadable("a time is cut off"))
}

fn get_16(from: &mut impl Buf) -> Result<[u8; 16], Unreadable> {
    let mut bytes = [0; 16];
    from.try_copy_to_slice(&mut bytes).map_err(|_| Unreadable("an id is cut off"))?;
    Ok(bytes)
}
