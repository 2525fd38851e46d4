//! [`Consistency`]: whether a response may be stale.

/// Whether a response may be stale; sent in the header `X-Consistency-State`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Of a read: the value comes from the database, or from a cache entry that every invalidation reaches. Of a write: no instance
    /// serves the previous value any more.
    Consistent,
    /// Of a read: the value before the last write, served while a newer one is loaded, or a value that includes writes of this instance
    /// that are not in the database yet. Of a write: it is committed and its invalidation is pending, or it is on this machine's disk
    /// and not in the database yet. Until then other instances may serve the previous value.
    Eventual,
    /// The database did not confirm whether the write was committed.
    Unknown,
}

impl Consistency {
    /// The value of the header.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Consistency::Consistent => "consistent",
            Consistency::Eventual => "eventual",
            Consistency::Unknown => "unknown",
        }
    }
}
