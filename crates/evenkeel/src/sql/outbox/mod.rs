//! The outbox: the rows in which effects wait beside the data they follow. docs/spec/unit-of-work.md has tables and states.
//!
//! `effect` is what a row can ask for and how that is written down; `rows` are the statements; `carry` does what is asked, for
//! the fast path and for the relay alike.

pub(crate) mod carry;
pub(crate) mod effect;
pub(crate) mod format;
pub(crate) mod rows;

pub(crate) use carry::Carrier;
pub(crate) use effect::Effect;
pub use effect::Message;
pub(crate) use rows::State;

use std::fmt;

/// Reads what a row of the outbox holds and answers how it is written again: for tests that feed damaged rows.
///
/// # Errors
/// [`SqlError::Unreadable`](super::SqlError::Unreadable).
#[cfg(feature = "testing")]
pub fn effects_again(bytes: &[u8]) -> Result<Vec<u8>, super::SqlError> {
    format::decode(bytes.to_vec()).map(|effects| format::encode(&effects))
}

/// The name of one unit of work: a UUID of version 7, so that rows lie in the table about in the order of their making.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WorkId(pub [u8; 16]);

impl WorkId {
    pub(crate) fn new(unix_ms: u64) -> Self {
        let mut random = [0; 10];
        rand::Rng::fill(&mut rand::rng(), &mut random);
        Self(uuid::Builder::from_unix_timestamp_millis(unix_ms, &random).into_uuid().into_bytes())
    }
}

impl fmt::Display for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&uuid::Uuid::from_bytes(self.0), f)
    }
}

impl std::str::FromStr for WorkId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(uuid::Uuid::parse_str(text)?.into_bytes()))
    }
}

impl fmt::Debug for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
