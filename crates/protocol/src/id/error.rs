//! The errors of ids and what a caller can do about them.

use evenkeel_link::LinkError;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Why there is no id.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// Redis returned an error or did not reply.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The arguments are invalid. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// Programs use different settings for the same scope. Nothing was done. Use the same settings in all of them: those of a scope are
    /// stored with its first worker id, and do not change.
    #[error(
        "the scope {scope:?} has the settings {stored:?}, this program has {asked:?}: use the same in every program"
    )]
    Differs {
        /// The scope.
        scope: String,
        /// The settings of this program.
        asked: String,
        /// The stored settings.
        stored: String,
    },
    /// All worker ids of the scope are leased: there are as many processes, or as many have ended in the last seconds without a release. Retry
    /// later; if that does not help, the scope needs a layout with more worker ids.
    #[error("all {workers} worker ids of the scope {scope:?} are in use; the next lease ends in {}", ms(*free_in))]
    WorkersTaken {
        /// The scope.
        scope: String,
        /// The number of worker ids.
        workers: u32,
        /// When a lease ends at the earliest, unless it is renewed.
        free_in: Duration,
    },
    /// The clock of this process and that of the store differ by an hour or more. Nothing was reserved, because a mistaken time would stay
    /// reserved. Correct the clock that is wrong.
    #[error(
        "the clocks are an hour or more apart: the store has {store_ms}, this process {own_ms} (ms since 1970); correct the wrong one"
    )]
    ClocksApart {
        /// The time of the store, in ms since 1970.
        store_ms: u64,
        /// The time of this process, in ms since 1970.
        own_ms: u64,
    },
    /// The caller has waited for as long as it was allowed to: no time could be reserved.
    #[error("no id within {}{}", ms(*waited), because(cause.as_deref()))]
    NoneInTime {
        /// How long the caller has waited.
        waited: Duration,
        /// Why the last reservation failed, if it did.
        cause: Option<Arc<IdError>>,
    },
    /// The database of the sequence returned an error or did not reply. A block of numbers may be lost; none is issued twice.
    #[error("{error}")]
    Database {
        /// The database's error; with `evenkeel`, a `SqlError`.
        error: Arc<dyn Error + Send + Sync>,
        /// Whether the same call may succeed later.
        is_retryable: bool,
    },
    /// The generator was released.
    #[error("the generator of the scope {scope:?} was released; build another one")]
    Released {
        /// The scope.
        scope: String,
    },
}

impl IdError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Link(error) => error.is_retryable(),
            Self::Database { is_retryable, .. } => *is_retryable,
            Self::WorkersTaken { .. } | Self::ClocksApart { .. } => true,
            Self::NoneInTime { cause, .. } => cause.as_ref().is_none_or(|cause| cause.is_retryable()),
            Self::Invalid(_) | Self::Differs { .. } | Self::Released { .. } => false,
        }
    }
}

fn ms(span: Duration) -> String {
    format!("{} ms", span.as_millis())
}

fn because(cause: Option<&IdError>) -> String {
    cause.map(|cause| format!(": {cause}")).unwrap_or_default()
}
