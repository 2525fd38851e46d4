//! The encoding of a segment.
//!
//! A segment begins with a header of 28 bytes: `EVKSPOOL`, its number, the next sequence, and the CRC-32 of these. Then follow
//! frames, each written by one call: the length of the body (4 bytes), the CRC-32 of the body (4), the CRC-32 of those eight
//! bytes, the segment's number and the frame's offset (4), and the body. A body is a list of entries. All numbers are
//! little-endian.
//!
//! The length has a checksum of its own: otherwise a damaged length in the middle would look like a truncated last frame, and
//! all following frames would be truncated with it. The checksum covers the number and the offset, so that a misplaced frame is
//! detected.

use super::effect::{Kind, PendingEffect};
use bytes::Bytes;
use evenkeel_link::support::guard;
use std::sync::Arc;

/// The first bytes of a segment.
const MAGIC: &[u8; 8] = b"EVKSPOOL";
/// Bytes of a segment's header.
pub const HEADER_BYTES: usize = 28;
/// Bytes before the body of a frame.
pub const FRAME_HEADER_BYTES: usize = 12;

const PUT: u8 = 1;
const DONE: u8 = 2;

/// One entry of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An effect was stored (or copied from a segment that is about to be removed).
    Put {
        /// Its number.
        sequence: u64,
        /// The effect.
        effect: PendingEffect,
    },
    /// The effect with this sequence is done.
    Done(u64),
}

/// The parsed contents of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The next sequence when the segment was started.
    pub next_sequence: u64,
    /// The entries of all valid frames, in order.
    pub entries: Vec<Entry>,
    /// The length of the header and all valid frames.
    pub good_bytes: usize,
    /// What follows them.
    pub ending: Ending,
}

/// What follows the last valid frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing.
    Clean,
    /// A frame (or header) whose write was interrupted.
    Torn,
    /// Damage that no interrupted write explains.
    Damaged(&'static str),
}

/// The header of a segment.
#[must_use]
pub fn header(number: u64, next_sequence: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    bytes[16..24].copy_from_slice(&next_sequence.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..24]);
    bytes[24..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// One frame with these entries, for the position `offset` of the segment `number`.
#[must_use]
pub fn frame(number: u64, offset: u64, entries: &[Entry]) -> Vec<u8> {
    let mut bytes = vec![0; FRAME_HEADER_BYTES];
    entries.iter().for_each(|entry| write_entry(&mut bytes, entry));
    let body_bytes = u32::try_from(bytes.len() - FRAME_HEADER_BYTES).unwrap_or(u32::MAX);
    let body_crc = crc32fast::hash(&bytes[FRAME_HEADER_BYTES..]);
    bytes[..4].copy_from_slice(&body_bytes.to_le_bytes());
    bytes[4..8].copy_from_slice(&body_crc.to_le_bytes());
    let head_crc = head_crc(number, offset, &bytes[..8]);
    bytes[8..12].copy_from_slice(&head_crc.to_le_bytes());
    bytes
}

/// The size of an effect in a frame of its own.
#[must_use]
pub fn frame_bytes(effect: &PendingEffect) -> u64 {
    (FRAME_HEADER_BYTES + 20 + effect.topic.len() + effect.key.len() + effect.body.len()) as u64
}

/// Parses the segment `number`. Arbitrary bytes are handled.
#[must_use]
pub fn parse(number: u64, bytes: &[u8]) -> Parsed {
    let mut parsed = Parsed { next_sequence: 0, entries: Vec::new(), good_bytes: 0, ending: Ending::Clean };
    let Some((head, _)) = bytes.split_at_checked(HEADER_BYTES) else {
        parsed.ending = Ending::Torn;
        return parsed;
    };
    let next_sequence = u64::from_le_bytes(array(&head[16..24]));
    if head != header(number, next_sequence) {
        parsed.ending =
            if is_zero(bytes) { Ending::Torn } else { Ending::Damaged("its header is not a segment header") };
        return parsed;
    }
    parsed.next_sequence = next_sequence;
    parsed.good_bytes = HEADER_BYTES;
    while parsed.good_bytes < bytes.len() {
        match read_frame(number, parsed.good_bytes, &bytes[parsed.good_bytes..]) {
            Ok((entries, read)) => {
                parsed.entries.extend(entries);
                parsed.good_bytes += read;
            }
            Err(ending) => {
                parsed.ending = ending;
                break;
            }
        }
    }
    parsed
}

/// The entries of the frame at the start of `rest`, and its length.
fn read_frame(number: u64, offset: usize, rest: &[u8]) -> Result<(Vec<Entry>, usize), Ending> {
    let Some((head, body)) = rest.split_at_checked(FRAME_HEADER_BYTES) else { return Err(Ending::Torn) };
    let expected = head_crc(number, offset as u64, &head[..8]);
    if u32::from_le_bytes(array(&head[8..12])) != expected && guard("spool_length_checksum") {
        // A file whose size grew before its blocks were written ends in zeros.
        let torn = is_zero(rest);
        return Err(if torn { Ending::Torn } else { Ending::Damaged("the checksum of a record's length is wrong") });
    }
    let body_bytes = u32::from_le_bytes(array(&head[..4])) as usize;
    let Some(frame_body) = body.get(..body_bytes) else { return Err(Ending::Torn) };
    if crc32fast::hash(frame_body) != u32::from_le_bytes(array(&head[4..8])) && guard("spool_checksum") {
        let is_last = body_bytes == body.len();
        return Err(if is_last { Ending::Torn } else { Ending::Damaged("the checksum of a record is wrong") });
    }
    let entries = read_entries(frame_body);
    Ok((
        entries.ok_or(Ending::Damaged("a record cannot be read; it may have been written by a newer program"))?,
        FRAME_HEADER_BYTES + body_bytes,
    ))
}

fn head_crc(number: u64, offset: u64, head: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(&number.to_le_bytes());
    hasher.update(&offset.to_le_bytes());
    hasher.finalize()
}

fn write_entry(to: &mut Vec<u8>, entry: &Entry) {
    match entry {
        Entry::Done(sequence) => {
            to.push(DONE);
            to.extend(sequence.to_le_bytes());
        }
        Entry::Put { sequence, effect } => {
            let PendingEffect { kind, topic, key, body } = effect;
            to.push(PUT);
            to.extend(sequence.to_le_bytes());
            to.push(match kind {
                Kind::Delete => 0,
                Kind::Write => 1,
            });
            to.extend(u16::try_from(topic.len()).unwrap_or(u16::MAX).to_le_bytes());
            to.extend(u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes());
            to.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
            to.extend(topic.as_bytes());
            to.extend(key);
            to.extend(body);
        }
    }
}

fn read_entries(mut body: &[u8]) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while !body.is_empty() {
        let tag = take(&mut body, 1)?[0];
        let sequence = u64::from_le_bytes(array(take(&mut body, 8)?));
        entries.push(match tag {
            DONE => Entry::Done(sequence),
            PUT => Entry::Put { sequence, effect: read_effect(&mut body)? },
            _ => return None,
        });
    }
    Some(entries)
}

fn read_effect(body: &mut &[u8]) -> Option<PendingEffect> {
    let kind = match take(body, 1)?[0] {
        0 => Kind::Delete,
        1 => Kind::Write,
        _ => return None,
    };
    let topic_bytes = usize::from(u16::from_le_bytes(array(take(body, 2)?)));
    let key_bytes = u32::from_le_bytes(array(take(body, 4)?)) as usize;
    let body_bytes = u32::from_le_bytes(array(take(body, 4)?)) as usize;
    let topic: Arc<str> = std::str::from_utf8(take(body, topic_bytes)?).ok()?.into();
    let key = Bytes::copy_from_slice(take(body, key_bytes)?);
    let text = Bytes::copy_from_slice(take(body, body_bytes)?);
    Some(PendingEffect { kind, topic, key, body: text })
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

/// The bytes as an array; `slice` has that length.
fn array<const N: usize>(slice: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(slice);
    array
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    //! Every truncation is detected as a torn end, and every flipped bit before the last frame as damage at its position.

    use super::*;

    fn put(sequence: u64, key: &'static str) -> Entry {
        Entry::Put { sequence, effect: PendingEffect::delete("shop:c:user", key, &b"\x01\x02"[..]) }
    }

    /// A segment, and the offsets of its frames.
    fn segment() -> (Vec<u8>, Vec<usize>, Vec<Vec<Entry>>) {
        let frames = vec![vec![put(1, "a"), put(2, "b")], vec![Entry::Done(1)], vec![put(3, "c"), Entry::Done(2)]];
        let mut bytes = header(7, 1).to_vec();
        let mut begins = Vec::new();
        for entries in &frames {
            begins.push(bytes.len());
            bytes.extend(frame(7, bytes.len() as u64, entries));
        }
        (bytes, begins, frames)
    }

    #[test]
    fn written_frames_are_read() {
        let (bytes, _, frames) = segment();
        let parsed = parse(7, &bytes);
        assert_eq!((parsed.next_sequence, parsed.good_bytes, parsed.ending), (1, bytes.len(), Ending::Clean));
        assert_eq!(parsed.entries, frames.concat());
        let effect = PendingEffect::delete("shop:c:user", "a", &b"\x01\x02"[..]);
        assert_eq!(frame_bytes(&effect), frame(7, 0, &parsed.entries[..1]).len() as u64);
    }

    #[test]
    fn truncated_segment_ends_with_its_last_whole_frame() {
        let (bytes, begins, frames) = segment();
        for length in 0..bytes.len() {
            let parsed = parse(7, &bytes[..length]);
            let whole = begins.iter().skip(1).filter(|begin| **begin <= length).count();
            assert_eq!(parsed.entries, frames[..whole].concat(), "cut at {length}");
            let is_between = length == HEADER_BYTES || begins.contains(&length);
            assert_eq!(parsed.ending == Ending::Clean, is_between, "cut at {length}");
            assert_ne!(
                std::mem::discriminant(&parsed.ending),
                std::mem::discriminant(&Ending::Damaged("")),
                "cut at {length}"
            );
        }
    }

    #[test]
    fn flipped_bit_is_reported_with_its_position() {
        let (bytes, begins, _) = segment();
        let last = begins[2];
        for place in 0..last {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            let parsed = parse(7, &damaged);
            assert!(matches!(parsed.ending, Ending::Damaged(_)), "byte {place}: {:?}", parsed.ending);
            let begin = begins.iter().rev().find(|begin| **begin <= place).copied().unwrap_or(0);
            assert_eq!(parsed.good_bytes, begin, "byte {place}");
        }
    }

    #[test]
    fn frame_of_another_position_or_segment_is_rejected() {
        let (bytes, begins, _) = segment();
        let second = &bytes[begins[1]..begins[2]];
        let moved = [&bytes[..begins[1]], second, second, &[1]].concat();
        assert!(matches!(parse(7, &moved).ending, Ending::Damaged(_)));
        assert!(matches!(parse(8, &bytes).ending, Ending::Damaged(_)));
    }

    #[test]
    fn trailing_zeros_are_an_unfinished_write() {
        let (mut bytes, ..) = segment();
        let length = bytes.len();
        bytes.extend([0; 100]);
        assert_eq!((parse(7, &bytes).ending, parse(7, &bytes).good_bytes), (Ending::Torn, length));
        assert_eq!(parse(7, &[0; 64]).ending, Ending::Torn);
    }
}
