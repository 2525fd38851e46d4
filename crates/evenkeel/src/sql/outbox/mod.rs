//! The outbox: effects are stored in rows, in the same transaction as the data they follow. docs/spec/unit-of-work.md has tables and
//! states.
//!
//! `effect` has the effects, `format` their encoding, `rows` the statements, and `carry` carries the effects out, for the fast path
//! and for the relay.

pub(crate) mod carry;
pub(crate) mod effect;
pub(crate) mod format;
pub(crate) mod rows;

pub(crate) use effect::Effect;
pub use effect::Message;
pub(crate) use rows::State;

use std::fmt;

/// Decodes the effects of an outbox row and encodes them again: for tests with damaged rows.
///
/// # Errors
/// [`SqlError::Unreadable`](super::SqlError::Unreadable).
#[cfg(feature = "testing")]
pub fn effects_again(bytes: &[u8]) -> Result<Vec<u8>, super::SqlError> {
    format::decode(bytes.to_vec()).map(|effects| format::encode(&effects))
}

/// The id of a unit of work: a UUID of version 7, so that rows are stored roughly in the order of their creation.
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
