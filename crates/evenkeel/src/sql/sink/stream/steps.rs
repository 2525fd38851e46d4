//! The atomic step of a stream sink as a trait, which the model and the script implement.

use crate::sql::sink::Envelope;
use async_trait::async_trait;
use evenkeel_link::LinkError;

/// The maximum number of messages in one step.
pub(super) const MESSAGES_MAX: usize = 200;

/// Sequences from here on are not exact in a script.
pub(super) const SEQUENCE_MAX: u64 = 1 << 53;

/// What happens when a stream has reached its maximum length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// There is no maximum. The consumers trim the stream.
    #[default]
    Unlimited,
    /// The stream accepts no more messages until it is trimmed: they stay in the outbox, and senders are not affected.
    Refuse(u64),
    /// The oldest entries are deleted, **whether they were read or not**. Slightly more entries than this may remain (Redis trims
    /// whole nodes).
    TrimOldest(u64),
}

/// The parameters of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The maximum length of the stream.
    pub limit: Limit,
    /// How long the last sequence of a key is kept after its last message; it must exceed the longest delay of a copy.
    pub deduplication_ms: u64,
}

/// The result for one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The message is in the stream under this entry id.
    Entry(String),
    /// The key has had this sequence or a later one: nothing was written.
    Seen,
    /// The stream has reached its maximum length: this message and all later ones of the step were not written.
    Full,
}

/// An entry read from a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The entry's id in Redis: a time and a number.
    pub entry_id: String,
    /// The message.
    pub message: Envelope,
}

/// Appends to streams and reads from them.
#[async_trait]
pub trait StreamSteps: Send + Sync {
    /// Appends messages, all of the same topic, unless their key has had their sequence. In order, and atomically.
    ///
    /// # Errors
    /// [`LinkError`]; after an unknown outcome the same call may be repeated: ordered messages are not duplicated.
    async fn append(&self, rule: Rule, messages: &[Envelope]) -> Result<Vec<Appended>, LinkError>;

    /// Up to `limit` entries of a topic after the entry `after`, oldest first.
    ///
    /// # Errors
    /// [`LinkError`]; [`LinkError::Unexpected`] if an entry was not written by a stream sink.
    async fn entries(&self, topic: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>, LinkError>;
}
