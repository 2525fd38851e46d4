//! What can go wrong with a queue, and what to do about it.

use super::job::JobId;
use super::record::Unreadable;
use crate::codec::error::CodecError;
use evenkeel_link::LinkError;

/// Why a queue call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// Redis did not do it, or did not say so.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The queue cannot be opened like this. Nothing was changed.
    #[error("queue {queue}: {reason}")]
    Settings {
        /// Its name.
        queue: String,
        /// What cannot work, and what to change.
        reason: String,
    },
    /// Nobody has opened a queue of this name on this store, under this prefix.
    #[error(
        "there is no queue called {topic} here; check the address, its prefix, and that a program has opened the queue"
    )]
    UnknownTopic {
        /// What was asked for.
        topic: String,
    },
    /// The body has no form in the queue's codec. Nothing was sent.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The queue has reached its limit of jobs or bytes, and stayed there for as long as the call may wait. The job was not
    /// taken: try later, or turn your own caller away.
    #[error("queue {queue} is full (jobs_max or bytes_max); the job was not taken, try again later")]
    Full {
        /// Its name.
        queue: String,
    },
    /// Redis has taken the jobs, but fewer copies were confirmed in time than were asked for. They run, unless the server is
    /// lost before its copies catch up. Sending a job again under the same id does no harm.
    #[error("the jobs are accepted, but only {reached} of {wanted} copies were confirmed in time")]
    NotDurable {
        /// The jobs that were accepted.
        ids: Vec<JobId>,
        /// How many copies were asked for.
        wanted: u32,
        /// How many were confirmed.
        reached: u32,
    },
    /// The database that judges the queue's jobs (`Durability::Sql`) did not do it, or did not say so. Sending a
    /// job again under the same id does no harm.
    #[error("the database that judges the jobs: {reason}")]
    Database {
        /// Its words.
        reason: String,
        /// Whether the same call may succeed later.
        is_retryable: bool,
    },
    /// Rows in a SQL database decide about the jobs of this topic (`Durability::Sql`), and the database was not
    /// given. Nothing was changed, and nothing was looked for: what Redis alone says of such a job may be wrong.
    #[error(
        "the jobs of {topic} are rows in a SQL database, which decides about them; say which: `--database URL` on the command line, \
         `Topic::sql(&pool)` in a program"
    )]
    NeedsDatabase {
        /// The topic.
        topic: String,
    },
    /// The call has more items than a step takes. Nothing was sent.
    #[error("{items} items in one call, at most {limit} are taken; split the call")]
    TooMany {
        /// How many there were.
        items: usize,
        /// How many are taken.
        limit: usize,
    },
    /// A job is larger than the queue takes. Nothing was sent.
    #[error("the job is {bytes} bytes, at most {limit} are taken; keep the data elsewhere and enqueue its key")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The call cannot work as it is. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// The call happened, but a record could not be read. The job stays where it is.
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

    /// Whether the call may have happened although it failed here.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        match self {
            Self::Link(error) => error.outcome_unknown(),
            Self::Database { .. } => true,
            _ => false,
        }
    }
}
