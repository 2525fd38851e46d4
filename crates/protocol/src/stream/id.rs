//! The id of an entry: the server's time at the append, and a number within that millisecond.

use super::steps::SEQUENCE_MAX;
use std::fmt;
use std::str::FromStr;

/// The id of an entry, as Redis writes it: `ms-sequence`. Ids of one partition increase with each append.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EntryId {
    /// The server's time in ms since 1970, or that of the previous entry if the clock was set back.
    pub ms: u64,
    /// Numbers the entries of one millisecond.
    pub sequence: u64,
}

impl EntryId {
    /// Before every entry.
    pub const MIN: Self = Self { ms: 0, sequence: 0 };

    /// The first possible entry of this time.
    #[must_use]
    pub fn at(ms: u64) -> Self {
        Self { ms, sequence: 0 }
    }

    /// The last possible id before this one; the first one has none, and returns itself.
    #[must_use]
    pub fn previous(self) -> Self {
        match (self.ms, self.sequence) {
            (0, 0) => self,
            (ms, 0) => Self { ms: ms - 1, sequence: SEQUENCE_MAX },
            (ms, sequence) => Self { ms, sequence: sequence - 1 },
        }
    }

    /// The next possible id.
    #[must_use]
    pub fn next(self) -> Self {
        Self { ms: self.ms, sequence: self.sequence + 1 }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.sequence)
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not `ms-sequence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an entry id; it must have the form 1700000000000-0")]
pub struct NotAnId;

impl FromStr for EntryId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (ms, sequence) = text.split_once('-').ok_or(NotAnId)?;
        let number = |text: &str| text.parse().map_err(|_| NotAnId);
        Ok(Self { ms: number(ms)?, sequence: number(sequence)? })
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryId, NotAnId};

    #[test]
    fn entry_id_round_trips() {
        let id = EntryId { ms: 1_700_000_000_000, sequence: 7 };
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!(id < id.next() && id.next() < EntryId::at(1_700_000_000_001));
        assert_eq!((id.next().previous(), EntryId::MIN.previous()), (id, EntryId::MIN));
        assert_eq!(EntryId::at(5).previous(), EntryId { ms: 4, sequence: (1 << 53) - 1 });
        for wrong in ["", "1", "1-", "-1", "a-1", "1-1-1", "1-18446744073709551616"] {
            assert_eq!(wrong.parse::<EntryId>(), Err(NotAnId), "{wrong}");
        }
    }
}
