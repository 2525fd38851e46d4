//! The errors of cache calls and what a caller can do about them.

use evenkeel_link::LinkError;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Why a cache call failed. Cheap to clone: all readers that waited for one load receive the same error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// Redis returned an error or did not reply. Reads call the loader instead, so only invalidations return this.
    #[error(transparent)]
    Link(#[from] LinkError),

    /// The loader returned an error; [`CacheError::loader_error`] returns it. Nothing was stored.
    #[error("the loader failed: {0}")]
    Loader(Arc<dyn Error + Send + Sync>),

    /// The loader panicked. Nothing was stored.
    #[error("the loader panicked: {0}")]
    LoaderPanicked(Arc<str>),

    /// The loader took longer than `load_timeout` and was dropped. Nothing was stored.
    #[error("the loader took longer than {after:?}")]
    LoaderTimedOut {
        /// The value of `load_timeout`.
        after: Duration,
    },

    /// The load was dropped before it completed, because its runtime is shutting down.
    #[error("the load was dropped before it completed; the runtime is shutting down")]
    LoaderDropped,

    /// No load permit of this cache became available in time. The database was not queried: shed the request or retry later.
    #[error("all {limit} load permits were in use for {waited:?}; the database was not queried")]
    Overloaded {
        /// The cache's `loads_max`.
        limit: usize,
        /// How long this reader waited for a permit.
        waited: Duration,
    },

    /// Loads of this key failed for as long as this reader was prepared to wait. The database was not queried again.
    #[error("loads of this key keep failing; waited {waited:?} for a successful one")]
    Failing {
        /// How long this reader waited.
        waited: Duration,
    },

    /// The limit of waiting readers, `waiters_max`, is reached. The database was not queried: shed the request, retry later, or
    /// raise `waiters_max`.
    #[error("{limit} readers of this cache are already waiting; shed the request, retry later, or raise waiters_max")]
    Busy {
        /// The cache's `waiters_max`.
        limit: usize,
    },

    /// Another reader's load of this key did not complete within `wait_max`, and the cache is configured to fail then
    /// (`AfterWait::Fail`). Retry later; find out why loads of this key take so long.
    #[error("waited {waited:?} for another reader's load of this key; retry later")]
    WaitedTooLong {
        /// How long this reader waited.
        waited: Duration,
    },

    /// An update window of this key is open, and the cache is configured to fail such reads (`WhileWriting::Fail`).
    #[error("the row is being written; its update window ends in {retry_after:?} at the latest, unless it is renewed")]
    Writing {
        /// The time until the last window expires, unless it is renewed.
        retry_after: Duration,
    },

    /// Four writers have open update windows of this key; nothing was begun. Retry when one of them has finished.
    #[error("{max} writers of this row already have an update window; nothing was begun", max = super::steps::WINDOWS_MAX)]
    WritersBusy {
        /// The time until the first of their windows expires, unless it is renewed.
        retry_after: Duration,
    },

    /// Too few replicas of Redis confirmed the update window in time (`windows_on_replicas`); it was withdrawn, and nothing was written.
    /// Retry; check the replicas' lag.
    #[error("{confirmed} of {required} replicas confirmed the update window in time; nothing was begun")]
    WindowNotReplicated {
        /// The number of replicas that the cache is configured to wait for.
        required: u32,
        /// The number of replicas that confirmed it.
        confirmed: u32,
    },

    /// This writer's update window has expired, or the store has lost it: readers may be served the older value again. Roll
    /// back; a commit after this point is not covered by C2.
    #[error("the update window is lost: roll back and begin again")]
    WindowLost,

    /// The builder's settings are invalid. The sentence says what to change.
    #[error("cache `{cache}`: {reason}")]
    Settings {
        /// The name of the cache.
        cache: String,
        /// What is invalid and how to correct it.
        reason: String,
    },

    /// The cache's configuration does not support this call. The sentence says what is missing.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl CacheError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Link(error) => error.is_retryable(),
            Self::Loader(_)
            | Self::LoaderTimedOut { .. }
            | Self::Overloaded { .. }
            | Self::Failing { .. }
            | Self::Busy { .. }
            | Self::WaitedTooLong { .. }
            | Self::Writing { .. }
            | Self::WritersBusy { .. }
            | Self::WindowNotReplicated { .. }
            | Self::WindowLost => true,
            Self::LoaderPanicked(_) | Self::LoaderDropped | Self::Settings { .. } | Self::Unsupported(_) => false,
        }
    }

    /// Whether an invalidation may have been executed although the call failed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::Link(error) if error.outcome_unknown())
    }

    /// The loader's error, if this is one and of this type.
    #[must_use]
    pub fn loader_error<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Loader(error) => error.downcast_ref(),
            _ => None,
        }
    }
}
