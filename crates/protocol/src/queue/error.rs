//! The errors of queue calls and what a caller can do about them.

use super::job::JobId;
use super::record::Unreadable;
use crate::codec::error::CodecError;
use evenkeel_link::LinkError;

/// Why a queue call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// Redis returned an error or did not reply.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The queue's settings are invalid. Nothing was changed.
    #[error("queue {queue}: {reason}")]
    Settings {
        /// Its name.
        queue: String,
        /// What is invalid and how to correct it.
        reason: String,
    },
    /// No program has opened a queue of this name on this store, under this prefix.
    #[error("there is no queue named {topic}; check the address, the prefix, and that a program has opened the queue")]
    UnknownTopic {
        /// The requested name.
        topic: String,
    },
    /// The queue's codec cannot represent the body. Nothing was sent.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The queue has reached its limit of jobs or bytes, and stayed there for as long as the call may wait. The job was not
    /// accepted: retry later, or reject your own caller.
    #[error("queue {queue} is full (jobs_max or bytes_max); the job was not accepted, retry later")]
    Full {
        /// Its name.
        queue: String,
    },
    /// Redis has accepted the jobs, but fewer copies were confirmed in time than were requested. The jobs run, unless the server is
    /// lost before its replicas catch up. Sending a job again with the same id is harmless.
    #[error("the jobs are accepted, but only {reached} of {required} copies were confirmed in time")]
    NotDurable {
        /// The jobs that were accepted.
        ids: Vec<JobId>,
        /// The number of requested copies.
        required: u32,
        /// The number of confirmed copies.
        reached: u32,
    },
    /// The source-of-truth database of the queue's jobs (`Durability::Sql`) returned an error or did not reply. Sending a
    /// job again with the same id is harmless.
    #[error("the database of the jobs: {reason}")]
    Database {
        /// The database's message.
        reason: String,
        /// Whether the same call may succeed later.
        is_retryable: bool,
    },
    /// Rows in a SQL database are the source of truth for the jobs of this topic (`Durability::Sql`), and the database was not
    /// given. Nothing was changed or read, because what Redis alone has of such a job may be outdated.
    #[error(
        "the jobs of {topic} are rows in a SQL database, which must be given: `--database URL` on the command line, \
         `Topic::sql(&pool)` in a program"
    )]
    NeedsDatabase {
        /// The topic.
        topic: String,
    },
    /// The call has more items than the limit. Nothing was sent.
    #[error("{items} items in one call; the limit is {limit}; split the call")]
    TooMany {
        /// The number of items.
        items: usize,
        /// The limit.
        limit: usize,
    },
    /// A job is above the size limit. Nothing was sent.
    #[error("the job has {bytes} bytes; the limit is {limit}; store the data elsewhere and enqueue its key")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The arguments are invalid. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// The call was executed, but a record could not be decoded. The job was not changed.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

impl QueueError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Link(error) => error.is_retryable(),
            Self::Full { .. } => true,
            Self::Database { is_retryable, .. } => *is_retryable,
            _ => false,
        }
    }

    /// Whether the call may have been executed although it failed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        match self {
            Self::Link(error) => error.outcome_unknown(),
            Self::Database { .. } => true,
            _ => false,
        }
    }
}
