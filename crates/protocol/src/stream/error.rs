//! The errors of stream calls and what a caller can do about them.

use crate::codec::CodecError;
use evenkeel_link::LinkError;

/// Why a stream call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// Redis returned an error or did not reply.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The call has more items than the limit. Nothing was sent.
    #[error("{items} items in one call; the limit is {limit}; split the call")]
    TooMany {
        /// The number of items.
        items: usize,
        /// The limit.
        limit: usize,
    },
    /// An entry is above the size limit. Nothing was sent.
    #[error("the entry has {bytes} bytes; the limit is {limit}; store the data elsewhere and append its key")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The arguments are invalid. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// The value could not be encoded. Nothing was sent.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A setting of the stream, of a group or of a consumer is invalid, or differs from that of another program.
    #[error("stream {stream:?}: {reason}")]
    Settings {
        /// The stream.
        stream: String,
        /// The setting, and the change to make.
        reason: String,
    },
    /// The partition has as many entries as `entries_max` allows. The entry was not appended.
    #[error("stream {stream:?} is full; the slowest group must catch up, or `entries_max` must be higher")]
    Full {
        /// The stream.
        stream: String,
    },
    /// An earlier entry of this producer for this key is not in the log. The entry was not appended.
    #[error(
        "stream {stream:?}: the last entry of this producer for this key has the number {last}; append those between first"
    )]
    OutOfOrder {
        /// The stream.
        stream: String,
        /// The number of the last entry.
        last: u64,
    },
    /// No program has opened a stream of this name on this store, under this prefix.
    #[error("there is no stream {stream:?} on this store; check its name and the prefix, or open it in a program")]
    Unknown {
        /// The name.
        stream: String,
    },
    /// The database in which the stream is registered returned an error or did not reply. Where Redis has lost the stream, nothing was created
    /// again.
    #[error("the database of the stream: {reason}")]
    Database {
        /// The error.
        reason: String,
        /// Whether the same call may succeed later.
        is_retryable: bool,
    },
    /// The stream has no such group, or Redis has lost it.
    #[error("stream {stream:?} has no group {group:?}; a consumer of the group creates it")]
    UnknownGroup {
        /// The stream.
        stream: String,
        /// The group.
        group: String,
    },
    /// An action on several partitions or dead letters was done in part: each was tried, until the server was unavailable. The call that
    /// failed may have been executed, too, if the outcome of `error` is unknown.
    #[error("{done} of {all} {what} were changed, the rest failed: {error}")]
    Partly {
        /// How many were changed.
        done: usize,
        /// How many were to be changed.
        all: usize,
        /// `partitions` or `dead letters`.
        what: &'static str,
        /// The first error.
        error: Box<StreamError>,
    },
}

impl StreamError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Link(error) => error.is_retryable(),
            Self::Database { is_retryable, .. } => *is_retryable,
            Self::Partly { error, .. } => error.is_retryable(),
            _ => false,
        }
    }

    /// Whether the call may have been executed although it failed. For [`Partly`](Self::Partly): whether more than it counts may have been
    /// changed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        match self {
            Self::Link(error) => error.outcome_unknown(),
            Self::Partly { error, .. } => error.outcome_unknown(),
            _ => false,
        }
    }
}
