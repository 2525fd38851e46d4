//! The record of a job: one string of a 40-byte header, optional fields, the body and the notes; or a completion record.
//!
//! docs/spec/queue.md has the table of offsets. The scripts in `shared/` read and write the same bytes.

use super::job::{
    End, ErrorClass, ErrorNote, FORGET_MS, Job, JobSpec, Keep, Note, Priority, Retries, Stamp, Unique, UniqueKey,
};
use super::retry_delay::RetryDelay;
use crate::codec::{JSON, MESSAGE_PACK};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use evenkeel_link::Token;
use evenkeel_link::support::guard;

/// Length of the fixed header.
pub const HEADER_BYTES: usize = 40;
/// Length of a completion record.
pub const STAMP_BYTES: usize = 24;

const FORMAT_JOB: u8 = 1;
const FORMAT_STAMP: u8 = 2;

const FLAG_PRIORITY: u8 = 0b0000_0011;
const FLAG_STARTED: u8 = 0b0000_0100;
const FLAG_DISCARD: u8 = 0b0000_1000;
const FLAG_NOTES: u8 = 0b0001_0000;
const FLAG_LAPSED: u8 = 0b0010_0000;
/// The codec of the body. Neither flag: a record of an older program. Both: the codec's id is the byte before the body.
const FLAGS_CODEC: u8 = 0b1100_0000;
const FLAG_JSON: u8 = 0b0100_0000;
const FLAG_MESSAGE_PACK: u8 = 0b1000_0000;

const HAS_EXPIRY: u8 = 0b0001;
const HAS_VERSION: u8 = 0b0010;
const HAS_WINDOW: u8 = 0b0100;
const HAS_UNIQUE: u8 = 0b1000;
/// Not a field after the header, but a property of the current delivery.
const IS_SHIELDED: u8 = 0b0001_0000;
const IS_ALONE: u8 = 0b0010_0000;

const RETRIES_UNLIMITED: u16 = u16::MAX;

const NOTE_ERROR: u8 = 1;
const NOTE_TRACE: u8 = 2;
const NOTE_HEADERS: u8 = 3;
const NOTE_NAME: u8 = 4;
const NOTE_REDRIVEN: u8 = 5;
const NOTE_RETRY_DELAY: u8 = 6;
const NOTE_PROGRESS: u8 = 7;

/// Encodes a completion record.
#[must_use]
pub fn encode_stamp(stamp: &Stamp) -> Bytes {
    let mut out = BytesMut::with_capacity(STAMP_BYTES);
    out.put_slice(&[FORMAT_STAMP, stamp.end as u8, 0, 0]);
    out.put_u64(stamp.version);
    put_u48(&mut out, stamp.ended_at);
    put_u48(&mut out, stamp.until.unwrap_or(0));
    out.freeze()
}

/// Bytes that are not a record of this format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of this job cannot be read: {0}")]
pub struct Unreadable(&'static str);

impl Unreadable {
    /// A completion record where a live job was expected.
    pub(crate) fn ended() -> Self {
        Self("a stamp instead of a job")
    }
}

/// The content of a `job:<id>` key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A job that waits, runs or is dead.
    Live(Box<Job>),
    /// The completion record of a job.
    Ended(Stamp),
}

impl Record {
    /// Decodes the content of a `job:<id>` key. The body shares the bytes of `raw`.
    ///
    /// # Errors
    /// [`Unreadable`] if the bytes do not have this format.
    pub fn decode(raw: &Bytes) -> Result<Self, Unreadable> {
        match raw.first() {
            Some(&FORMAT_JOB) => decode_job(raw.clone()).map(|job| Record::Live(Box::new(job))),
            Some(&FORMAT_STAMP) => decode_stamp(raw).map(Record::Ended),
            _ => Err(Unreadable("unknown format")),
        }
    }
}

impl Record {
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

/// Encodes a job.
#[must_use]
pub fn encode_job(job: &Job) -> Bytes {
    let mut out = BytesMut::with_capacity(encoded_len(job));
    put_header(&mut out, job);
    let spec = &job.spec;
    if let Some(late) = spec.late_ms_max {
        put_u48(&mut out, job.expires_at.unwrap_or(0));
        put_u48(&mut out, late);
    }
    if let Some(version) = spec.version {
        out.put_u64(version);
    }
    if let Some(window) = window_ms(spec.keep) {
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
        + window_ms(spec.keep).map_or(0, |_| 6)
        + spec.unique.map_or(0, |_| 22);
    let notes: usize = spec.notes.iter().map(|note| 3 + note_len(note)).sum();
    let codec = usize::from(named_codec(spec.codec).is_some());
    HEADER_BYTES + optional + codec + spec.body.len() + if spec.notes.is_empty() { 0 } else { notes + 4 }
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
            | flag(job.lapsed, FLAG_LAPSED)
            | codec_flags(spec.codec),
    );
    out.put_u8(
        flag(spec.late_ms_max.is_some(), HAS_EXPIRY)
            | flag(spec.version.is_some(), HAS_VERSION)
            | flag(window_ms(spec.keep).is_some(), HAS_WINDOW)
            | flag(spec.unique.is_some(), HAS_UNIQUE)
            | flag(job.shielded, IS_SHIELDED)
            | flag(job.alone, IS_ALONE),
    );
    out.put_u8(match spec.keep {
        Keep::Nothing => 0,
        Keep::AfterEnd(_) => 1,
        Keep::FromEnqueue(_) => 2,
        Keep::UntilForgotten => 3,
    });
    out.put_u16(job.errors);
    out.put_u16(match spec.retries {
        Retries::Limited(retries) => retries.min(RETRIES_UNLIMITED - 1),
        Retries::Unlimited => RETRIES_UNLIMITED,
    });
    out.put_u8(job.crashes);
    out.put_u8(job.lapses);
    put_u48(out, job.enqueued_at);
    out.put_u64(job.fence);
    out.put_slice(job.token.as_ref().map_or(&[0; 16], Token::as_bytes).as_slice());
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

fn window_ms(keep: Keep) -> Option<u64> {
    match keep {
        Keep::Nothing => None,
        Keep::AfterEnd(window) | Keep::FromEnqueue(window) => Some(window),
        Keep::UntilForgotten => Some(FORGET_MS),
    }
}

fn note_len(note: &Note) -> usize {
    match note {
        Note::Error(error) => 9 + error.text.len(),
        Note::Trace(bytes) | Note::Headers(bytes) | Note::Name(bytes) | Note::Progress(bytes) => bytes.len(),
        Note::Redriven { .. } => 24,
        Note::RetryDelay(_) => 13,
    }
}

fn put_note(out: &mut BytesMut, note: &Note) {
    out.put_u8(match note {
        Note::Error(_) => NOTE_ERROR,
        Note::Trace(_) => NOTE_TRACE,
        Note::Headers(_) => NOTE_HEADERS,
        Note::Name(_) => NOTE_NAME,
        Note::Redriven { .. } => NOTE_REDRIVEN,
        Note::RetryDelay(_) => NOTE_RETRY_DELAY,
        Note::Progress(_) => NOTE_PROGRESS,
    });
    out.put_u16(u16::try_from(note_len(note)).unwrap_or(u16::MAX));
    match note {
        Note::Error(error) => {
            put_error(out, error);
        }
        Note::Trace(bytes) | Note::Headers(bytes) | Note::Name(bytes) | Note::Progress(bytes) => out.put_slice(bytes),
        Note::Redriven { redrive, at, errors } => {
            out.put_slice(redrive);
            put_u48(out, *at);
            out.put_u16(*errors);
        }
        Note::RetryDelay(delay) => {
            let (kind, first, max) = match delay {
                RetryDelay::Fixed { ms } => (0, *ms, *ms),
                RetryDelay::Exponential { first_ms, max_ms } => (1, *first_ms, *max_ms),
            };
            out.put_u8(kind);
            put_u48(out, first);
            put_u48(out, max);
        }
    }
}

fn put_error(out: &mut BytesMut, error: &ErrorNote) {
    put_u48(out, error.at);
    out.put_u8(error.class as u8);
    out.put_u16(error.attempt);
    out.put_slice(&error.text);
}

/// Encodes an error in the format of its note.
pub fn encode_error(error: &ErrorNote) -> Bytes {
    let mut out = BytesMut::with_capacity(9 + error.text.len());
    put_error(&mut out, error);
    out.freeze()
}

/// The inverse of [`encode_error`].
pub fn decode_error(bytes: Bytes) -> Result<Note, Unreadable> {
    decode_note(NOTE_ERROR, bytes)
}

fn decode_job(mut raw: Bytes) -> Result<Job, Unreadable> {
    if raw.len() < HEADER_BYTES {
        return Err(Unreadable("shorter than a header"));
    }
    let mut header = raw.split_to(HEADER_BYTES);
    header.advance(1);
    let (flags, has, rule) = (header.get_u8(), header.get_u8(), header.get_u8());
    let (errors, retries) = (header.get_u16(), header.get_u16());
    let (crashes, lapses) = (header.get_u8(), header.get_u8());
    let enqueued_at = get_u48(&mut header)?;
    let fence = header.get_u64();
    let mut token = [0; 16];
    header.copy_to_slice(&mut token);

    let (mut expires_at, mut late_ms_max, mut version, mut window, mut unique) = (None, None, None, 0, None);
    if has & HAS_EXPIRY != 0 {
        expires_at = Some(get_u48(&mut raw)?);
        late_ms_max = Some(get_u48(&mut raw)?);
    }
    if has & HAS_VERSION != 0 {
        version = Some(raw.try_get_u64().map_err(|_| Unreadable("no version"))?);
    }
    if has & HAS_WINDOW != 0 {
        window = get_u48(&mut raw)?;
    }
    if has & HAS_UNIQUE != 0 {
        unique = Some(Unique { key: UniqueKey(get_16(&mut raw)?), window_ms: get_u48(&mut raw)? });
    }
    let notes = if flags & FLAG_NOTES == 0 { Vec::new() } else { split_notes(&mut raw)? };
    let codec = match flags & FLAGS_CODEC {
        0 => None,
        FLAG_JSON => Some(JSON),
        FLAG_MESSAGE_PACK => Some(MESSAGE_PACK),
        // A head alone does not contain the byte.
        _ => raw.try_get_u8().ok(),
    };
    Ok(Job {
        spec: JobSpec {
            priority: Priority::ALL[usize::from(flags & FLAG_PRIORITY)],
            retries: if retries == RETRIES_UNLIMITED { Retries::Unlimited } else { Retries::Limited(retries) },
            discard_exhausted: flags & FLAG_DISCARD != 0,
            keep: match rule {
                0 => Keep::Nothing,
                1 => Keep::AfterEnd(window),
                2 => Keep::FromEnqueue(window),
                3 => Keep::UntilForgotten,
                _ => return Err(Unreadable("unknown stamp rule")),
            },
            late_ms_max,
            unique,
            version,
            body: raw,
            codec,
            notes,
        },
        enqueued_at,
        expires_at,
        errors,
        crashes,
        lapses,
        started: flags & FLAG_STARTED != 0,
        lapsed: flags & FLAG_LAPSED != 0,
        shielded: has & IS_SHIELDED != 0,
        alone: has & IS_ALONE != 0,
        fence,
        token: (token != [0; 16]).then(|| Token::from(token)),
    })
}

/// Splits the notes off the end of what follows the optional fields; the rest is the body.
fn split_notes(rest: &mut Bytes) -> Result<Vec<Note>, Unreadable> {
    let before_length = rest.len().checked_sub(4).ok_or(Unreadable("no length of notes"))?;
    let length = rest.split_off(before_length).get_u32();
    let start = usize::try_from(length).ok().and_then(|length| rest.len().checked_sub(length));
    let mut entries = rest.split_off(start.ok_or(Unreadable("notes longer than the record"))?);
    let mut notes = Vec::new();
    while !entries.is_empty() {
        let kind = entries.get_u8();
        let length = entries.try_get_u16().map_err(|_| Unreadable("a note without length"))?;
        if entries.len() < usize::from(length) {
            return Err(Unreadable("a note longer than the notes"));
        }
        notes.push(decode_note(kind, entries.split_to(usize::from(length)))?);
    }
    Ok(notes)
}

fn decode_note(kind: u8, mut bytes: Bytes) -> Result<Note, Unreadable> {
    Ok(match kind {
        NOTE_ERROR => {
            let at = get_u48(&mut bytes)?;
            let class = match bytes.try_get_u8() {
                Ok(1) => ErrorClass::Failed,
                Ok(2) => ErrorClass::Crashed,
                Ok(3) => ErrorClass::Lapsed,
                Ok(4) => ErrorClass::Dead,
                _ => return Err(Unreadable("unknown class of error")),
            };
            let attempt = bytes.try_get_u16().map_err(|_| Unreadable("an error without attempt"))?;
            Note::Error(ErrorNote { at, class, attempt, text: bytes })
        }
        NOTE_TRACE => Note::Trace(bytes),
        NOTE_HEADERS => Note::Headers(bytes),
        NOTE_NAME => Note::Name(bytes),
        NOTE_PROGRESS => Note::Progress(bytes),
        NOTE_REDRIVEN => {
            let (redrive, at) = (get_16(&mut bytes)?, get_u48(&mut bytes)?);
            let errors = bytes.try_get_u16().map_err(|_| Unreadable("a redrive without errors"))?;
            Note::Redriven { redrive, at, errors }
        }
        NOTE_RETRY_DELAY => {
            let kind = bytes.try_get_u8().map_err(|_| Unreadable("a delay without kind"))?;
            let (first_ms, max_ms) = (get_u48(&mut bytes)?, get_u48(&mut bytes)?);
            Note::RetryDelay(match kind {
                0 => RetryDelay::Fixed { ms: first_ms },
                1 => RetryDelay::Exponential { first_ms, max_ms },
                _ => return Err(Unreadable("unknown kind of delay")),
            })
        }
        _ => return Err(Unreadable("unknown kind of note")),
    })
}

fn decode_stamp(mut raw: &[u8]) -> Result<Stamp, Unreadable> {
    if raw.len() != STAMP_BYTES {
        return Err(Unreadable("a stamp of another length"));
    }
    let end = End::from_code(raw[1]).ok_or(Unreadable("unknown end"))?;
    raw.advance(4);
    let version = raw.get_u64();
    let ended_at = get_u48(&mut raw)?;
    let until = get_u48(&mut raw)?;
    Ok(Stamp { end, until: (until != 0).then_some(until), version, ended_at })
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
