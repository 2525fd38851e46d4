//! How new the value of a read must be.

/// How new the value of a read must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freshness {
    /// What the store has, if it may be served: a value that nobody has invalidated, or one invalidated less than the cache's
    /// `keep` ago, while somebody loads the new one.
    #[default]
    Eventual,
}
