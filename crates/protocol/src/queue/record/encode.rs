//! From a job to its record.

use super::notes::{note_len, put_note};
use super::{
    FLAG_DISCARD, FLAG_JSON, FLAG_LEASE_EXPIRED, FLAG_MESSAGE_PACK, FLAG_NOTES, FLAG_STARTED, FLAGS_CODEC, FORMAT_JOB,
    HAS_EXPIRY, HAS_UNIQUE, HAS_VERSION, HAS_WINDOW, HEADER_BYTES, IS_ALONE, IS_SHIELDED, NO_EXPIRY, RETRIES_UNLIMITED,
    put_u48,
};
use crate::codec::{JSON, MESSAGE_PACK};
use crate::queue::job::{Job, Retention, Retries};
use bytes::{BufMut, Bytes, BytesMut};
use evenkeel_link::Token;
use evenkeel_link::support::guard;

/// Encodes a job.
#[must_use]
pub fn encode_job(job: &Job) -> Bytes {
    let mut out = BytesMut::with_capacity(encoded_len(job));
    put_header(&mut out, job);
    let spec = &job.spec;
    if let Some(late) = spec.late_ms_max {
        put_u48(&mut out, job.expires_at.unwrap_or(NO_EXPIRY));
        put_u48(&mut out, late);
    }
    if let Some(version) = spec.version {
        out.put_u64(version);
    }
    if let Some(window) = window_ms(spec.retention) {
        put_u48(&mut out, window);
    }
    if let Some(unique) = spec.unique {
        out.put_slice(&unique.key.0);
        put_u48(&mut out, unique.window_ms);
    }
    if let Some(codec) = named_codec(spec.codec) {
        out.put_u8(codec);
    }
    out.put_slice(&spec.body);
    if !spec.notes.is_empty() {
        let start = out.len();
        spec.notes.iter().for_each(|note| put_note(&mut out, note));
        let length = out.len() - start;
        out.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    }
    out.freeze()
}

/// The length of an encoded job.
#[must_use]
pub fn encoded_len(job: &Job) -> usize {
    let spec = &job.spec;
    let optional = spec.late_ms_max.map_or(0, |_| 12)
        + spec.version.map_or(0, |_| 8)
        + window_ms(spec.retention).map_or(0, |_| 6)
        + spec.unique.map_or(0, |_| 22);
    let notes: usize = spec.notes.iter().map(|note| 3 + note_len(note)).sum();
    let codec = usize::from(named_codec(spec.codec).is_some());
    HEADER_BYTES + optional + codec + spec.body.len() + if spec.notes.is_empty() { 0 } else { notes + 4 }
}

/// The header flags of a codec.
pub(crate) fn codec_flags(codec: Option<u8>) -> u8 {
    match codec {
        None => 0,
        Some(_) if !guard("queue_codec_recorded") => 0,
        Some(JSON) => FLAG_JSON,
        Some(MESSAGE_PACK) => FLAG_MESSAGE_PACK,
        Some(_) => FLAGS_CODEC,
    }
}

/// The codec's id, if it is stored in the byte before the body.
pub(crate) fn named_codec(codec: Option<u8>) -> Option<u8> {
    codec.filter(|codec| codec_flags(Some(*codec)) == FLAGS_CODEC)
}

fn put_header(out: &mut BytesMut, job: &Job) {
    let spec = &job.spec;
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    out.put_u8(FORMAT_JOB);
    out.put_u8(
        spec.priority as u8
            | flag(job.started, FLAG_STARTED)
            | flag(spec.discard_exhausted, FLAG_DISCARD)
            | flag(!spec.notes.is_empty(), FLAG_NOTES)
            | flag(job.lease_expired, FLAG_LEASE_EXPIRED)
            | codec_flags(spec.codec),
    );
    out.put_u8(
        flag(spec.late_ms_max.is_some(), HAS_EXPIRY)
            | flag(spec.version.is_some(), HAS_VERSION)
            | flag(window_ms(spec.retention).is_some(), HAS_WINDOW)
            | flag(spec.unique.is_some(), HAS_UNIQUE)
            | flag(job.shielded, IS_SHIELDED)
            | flag(job.alone, IS_ALONE),
    );
    out.put_u8(spec.retention.rule().0);
    out.put_u16(job.errors);
    out.put_u16(match spec.retries {
        Retries::Limited(retries) => retries.min(RETRIES_UNLIMITED - 1),
        Retries::Unlimited => RETRIES_UNLIMITED,
    });
    out.put_u8(job.crashes);
    out.put_u8(job.lease_expiries);
    put_u48(out, job.enqueued_at);
    out.put_u64(job.fence);
    out.put_slice(job.token.as_ref().map_or(&[0; 16], Token::as_bytes).as_slice());
}

fn window_ms(retention: Retention) -> Option<u64> {
    (retention != Retention::Nothing).then(|| retention.rule().1)
}
