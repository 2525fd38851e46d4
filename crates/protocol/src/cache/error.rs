//! What can go wrong with a cache, and what to do about it.

use evenkeel_link::LinkError;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Why a cache call failed. Cheap to clone: every reader that waited for one load gets the same error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// Redis did not do it, or did not say so. Reads answer from the loader instead, so only invalidations return this.
    #[error(transparent)]
    Link(#[from] LinkError),

    /// The loader returned an error; [`CacheError::loader_error`] gives it back. Nothing was stored.
    #[error("the loader failed: {0}")]
    Loader(Arc<dyn Error + Send + Sync>),

    /// The loader panicked. Nothing was stored.
    #[error("the loader panicked: {0}")]
    LoaderPanicked(Arc<str>),

    /// The loader took longer than `load_timeout` and was dropped. Nothing was stored.
    #[error("the loader took longer than {after:?}")]
    LoaderTimedOut {
        /// The setting.
        after: Duration,
    },

    /// The load was dropped before it ended: the runtime that ran it is shutting down.
    #[error("the load was dropped before it ended; the runtime is shutting down")]
    LoaderDropped,

    /// Too many loads of this cache were running for too long. Nothing was asked of the database: shed the request, or try later.
    #[error("{limit} loads were running for all of {waited:?}; the database was not asked")]
    Overloaded {
        /// `loads_max` of the cache.
        limit: usize,
        /// How long this reader waited for its turn.
        waited: Duration,
    },

    /// Somebody's loads of this key have failed for as long as this reader was ready to wait. The database was not asked again.
    #[error("loads of this key keep failing; waited {waited:?} for one that does not")]
    Failing {
        /// How long this reader waited.
        waited: Duration,
    },

    /// As many readers of this cache are waiting as `waiters_max` allows, and this one would have been one more. The database was
    /// not asked: shed the request, try later, or raise `waiters_max`.
    #[error("{limit} readers of this cache are waiting already; shed the request, try later, or raise waiters_max")]
    Busy {
        /// `waiters_max` of the cache.
        limit: usize,
    },

    /// Somebody else's load of this key had not ended after `wait_max`, and the cache was told to fail then
    /// (`AfterWait::Fail`). Try later; look at why loads of this key take so long.
    #[error("waited {waited:?} for a load of this key that somebody else began; try later")]
    WaitedTooLong {
        /// How long this reader waited.
        waited: Duration,
    },

    /// An update window of this key is open, and the cache was told that such reads fail (`WhileWriting::Fail`).
    #[error("the row is being written; its update window ends in {retry_after:?} at the latest, unless it is renewed")]
    Writing {
        /// When the last window lapses, unless it is renewed.
        retry_after: Duration,
    },

    /// Four writers hold update windows of this key; nothing was begun. Try again when one of them is done.
    #[error("{max} writers of this row hold update windows already; nothing was begun", max = super::steps::WINDOWS_MAX)]
    WritersBusy {
        /// When the first of their windows lapses, unless it is renewed.
        retry_after: Duration,
    },

    /// Too few replicas of Redis had the update window in time (`windows_on_replicas`); it was taken back, and nothing was written.
    /// Try again; look at the replicas' lag.
    #[error("{confirmed} of {wanted} replicas had the update window in time; nothing was begun")]
    WindowNotReplicated {
        /// How many the cache was told to wait for.
        wanted: u32,
        /// How many had it.
        confirmed: u32,
    },

    /// The update window of this writer has lapsed or was lost by the store: readers may be given the older value again. Roll
    /// back; a commit from now on is not covered by C2.
    #[error("the update window is lost: roll back and begin again")]
    WindowLost,

    /// The builder was told something that cannot work. The sentence says what to change.
    #[error("cache `{cache}`: {reason}")]
    Settings {
        /// The name of the cache.
        cache: String,
        /// What is wrong, and what to do.
        reason: String,
    },

    /// The cache was built in a way that cannot do this. The sentence says what it would need.
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

    /// Whether an invalidation may have happened although the call failed.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::Link(error) if error.outcome_unknown())
    }

    /// What the loader returned, if this is its error and of this type.
    #[must_use]
    pub fn loader_error<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Loader(error) => error.downcast_ref(),
            _ => None,
        }
    }
}
