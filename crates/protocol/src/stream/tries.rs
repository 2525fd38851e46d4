//! What a group has recorded about an entry that was delivered without being done: errors, crashes, and what ended its deliveries.

use bytes::{BufMut, Bytes, BytesMut};

/// The newest notes that are kept.
pub const NOTES_MAX: usize = 8;
/// The longest text of a note; longer ones are cut.
pub const NOTE_BYTES_MAX: usize = 1000;
/// Errors (2), crashes (1), `outcome_at` (4), `alone_at` (4).
const HEAD_BYTES: usize = 11;
/// Time (6), kind (1), length of the text (2).
const NOTE_HEAD_BYTES: usize = 9;

/// The record of an entry's deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tries {
    /// Deliveries that ended with an error.
    pub errors: u16,
    /// Deliveries that ran alone in their process and ended without an outcome.
    pub crashes: u8,
    /// The number of the last delivery that ended with an outcome; 0 for none.
    pub outcome_at: u32,
    /// The number of the last delivery that ran alone in its process; 0 for none.
    pub alone_at: u32,
    /// The newest [`NOTES_MAX`] errors and crashes, oldest first.
    pub notes: Vec<Note>,
}

/// An error or a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When, on the server's clock.
    pub at: u64,
    /// What.
    pub kind: NoteKind,
    /// The error's text.
    pub text: Bytes,
}

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// The handler returned an error.
    Failed,
    /// The process ended, or lost its lease, while the entry ran alone.
    Crashed,
    /// The entry became a dead letter for this reason.
    Dead,
}

impl Tries {
    /// Consecutive deliveries before number `count` that ended without an outcome: an entry with any is a suspect.
    #[must_use]
    pub fn lease_expiries(&self, count: u32) -> u32 {
        count.saturating_sub(1).saturating_sub(self.outcome_at)
    }

    pub(crate) fn note(&mut self, at: u64, kind: NoteKind, text: &Bytes) {
        if self.notes.len() == NOTES_MAX {
            self.notes.remove(0);
        }
        self.notes.push(Note { at, kind, text: text.slice(..text.len().min(NOTE_BYTES_MAX)) });
    }

    /// The bytes in Redis.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut bytes = BytesMut::new();
        bytes.put_u16(self.errors);
        bytes.put_u8(self.crashes);
        bytes.put_u32(self.outcome_at);
        bytes.put_u32(self.alone_at);
        for note in &self.notes {
            bytes.put_slice(&note.at.to_be_bytes()[2..]);
            bytes.put_u8(note.kind.code());
            bytes.put_u16(u16::try_from(note.text.len()).unwrap_or(u16::MAX));
            bytes.put_slice(&note.text);
        }
        bytes.freeze()
    }

    /// Reads the bytes; no bytes are an empty record. `None` if they are damaged.
    #[must_use]
    pub fn decode(bytes: &Bytes) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let head: [u8; HEAD_BYTES] = bytes.get(..HEAD_BYTES)?.try_into().ok()?;
        let [e0, e1, crashes, o0, o1, o2, o3, a0, a1, a2, a3] = head;
        let mut tries = Self {
            errors: u16::from_be_bytes([e0, e1]),
            crashes,
            outcome_at: u32::from_be_bytes([o0, o1, o2, o3]),
            alone_at: u32::from_be_bytes([a0, a1, a2, a3]),
            notes: Vec::new(),
        };
        let mut at = HEAD_BYTES;
        while at < bytes.len() {
            let &[t0, t1, t2, t3, t4, t5, kind, l0, l1] = bytes.get(at..at + NOTE_HEAD_BYTES)? else { return None };
            let end = at + NOTE_HEAD_BYTES + usize::from(u16::from_be_bytes([l0, l1]));
            let text = (end <= bytes.len()).then(|| bytes.slice(at + NOTE_HEAD_BYTES..end))?;
            let time = u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]);
            tries.notes.push(Note { at: time, kind: NoteKind::from_code(kind)?, text });
            at = end;
        }
        Some(tries)
    }
}

impl NoteKind {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Crashed => 2,
            Self::Dead => 3,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Failed),
            2 => Some(Self::Crashed),
            3 => Some(Self::Dead),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NOTES_MAX, NoteKind, Tries};
    use bytes::Bytes;

    #[test]
    fn tries_round_trip() {
        let mut tries = Tries { errors: 300, crashes: 2, outcome_at: 70_000, alone_at: 3, notes: Vec::new() };
        for number in 0..20_u64 {
            tries.note(1_700_000_000_000 + number, NoteKind::Failed, &Bytes::from(vec![b'x'; 2_000]));
        }
        assert_eq!(tries.notes.len(), NOTES_MAX);
        let bytes = tries.encode();
        assert_eq!(Tries::decode(&bytes), Some(tries));
        assert_eq!(Tries::decode(&Bytes::new()), Some(Tries::default()));
        assert_eq!(Tries::decode(&bytes.slice(..bytes.len() - 1)), None);
    }

    #[test]
    fn deliveries_without_outcome_make_a_suspect() {
        let tries = Tries { outcome_at: 2, ..Tries::default() };
        assert_eq!([1, 2, 3, 4, 5].map(|count| tries.lease_expiries(count)), [0, 0, 0, 1, 2]);
    }
}
