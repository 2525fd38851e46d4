//! The notes at the end of a record: errors, trace, headers and progress; then the length of all of them.

use super::{Unreadable, get_16, get_u48, put_u48};
use crate::queue::job::{ErrorClass, ErrorNote, Note};
use crate::queue::retry_delay::RetryDelay;
use bytes::{Buf, BufMut, Bytes, BytesMut};

const NOTE_ERROR: u8 = 1;
const NOTE_TRACE: u8 = 2;
const NOTE_HEADERS: u8 = 3;
const NOTE_NAME: u8 = 4;
const NOTE_REDRIVEN: u8 = 5;
const NOTE_RETRY_DELAY: u8 = 6;
const NOTE_PROGRESS: u8 = 7;

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

pub(super) fn note_len(note: &Note) -> usize {
    match note {
        Note::Error(error) => 9 + error.text.len(),
        Note::Trace(bytes) | Note::Headers(bytes) | Note::Name(bytes) | Note::Progress(bytes) => bytes.len(),
        Note::Redriven { .. } => 24,
        Note::RetryDelay(_) => 13,
    }
}

pub(super) fn put_note(out: &mut BytesMut, note: &Note) {
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

/// Splits the notes off the end of what follows the optional fields; the rest is the body.
pub(super) fn split_notes(rest: &mut Bytes) -> Result<Vec<Note>, Unreadable> {
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
                Ok(3) => ErrorClass::LeaseExpired,
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
