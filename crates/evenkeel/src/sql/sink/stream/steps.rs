//! The atomic step of a stream sink, as a trait; the model and the script both implement it.

use crate::sql::sink::Envelope;
use evenkeel_link::LinkError;
use std::future::Future;

/// At most so many messages go in one step.
pub const MESSAGES_MAX: usize = 200;

/// Sequences above this are not exact in a script.
pub const SEQUENCE_MAX: u64 = 1 << 53;

/// What happens to a stream that has reached its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// It has none. Who reads the stream trims it.
    #[default]
    Unlimited,
    /// It takes nothing more until somebody has trimmed it: the outbox holds what waits, and senders feel nothing.
    Refuse(u64),
    /// The oldest entries go, **whether anybody has read them or not**. A few more than this may stay (Redis trims whole nodes).
    TrimOldest(u64),
}

/// How a step appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The length of the stream.
    pub limit: Limit,
    /// How long the last sequence of a key is remembered after its last message: longer than any copy can be late.
    pub remember_ms: u64,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is in the stream under this entry id.
    Entry(String),
    /// Its key has had this sequence or a later one: nothing was written.
    Seen,
    /// The stream has reached its length: nothing was written, nor anything after it in this step.
    Full,
}

/// One entry as it is read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Redis's id of it: a time and a number.
    pub entry_id: String,
    /// What was sent.
    pub message: Envelope,
}

/// Appends to streams and looks into them.
pub trait StreamSteps: Send + Sync {
    /// Appends messages (all of topics that are the same), each unless its key has had its sequence. In order; atomically.
    ///
    /// # Errors
    /// [`LinkError`]; if the outcome is unknown the same call may be repeated: ordered messages are not doubled.
    fn append(
        &self,
        rule: Rule,
        messages: &[Envelope],
    ) -> impl Future<Output = Result<Vec<Appended>, LinkError>> + Send;

    /// Up to `limit` entries of a topic after the entry `after`, oldest first.
    ///
    /// # Errors
    /// [`LinkError`]; [`LinkError::Unexpected`] if an entry was not written by a stream sink.
    fn entries(
        &self,
        topic: &str,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Entry>, LinkError>> + Send;
}
