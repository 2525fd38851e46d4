//! [`Consistency`]: how far an answer can be relied upon.

/// How far an answer can be relied upon; the header `X-Consistency-State` carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Of a read: the newest committed state this instance can know of; it came from the database, or from a cache entry that
    /// every invalidation reaches. Of a write: no instance serves the state before it any more.
    Consistent,
    /// Of a read: the state before the last write, served while a newer one is loaded; or with writes of this instance that the
    /// database does not have yet. Of a write: it is committed, but the cache could not be told yet; or it is on this machine's
    /// disk, and not in the database yet. Other instances may serve the state before it meanwhile.
    Eventual,
    /// The database did not say whether the write happened.
    Unknown,
}

impl Consistency {
    /// As the header has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Consistency::Consistent => "consistent",
            Consistency::Eventual => "eventual",
            Consistency::Unknown => "unknown",
        }
    }
}
