//! What can go wrong with a cache, and what to do about it.

use crate::link::LinkError;

/// Why a cache call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// Redis did not do it, or did not say so.
    #[error(transparent)]
    Link(#[from] LinkError),
}
