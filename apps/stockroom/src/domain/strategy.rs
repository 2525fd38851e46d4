//! [`Strategy`]: the names of the locking strategies.

use std::fmt;
use std::str::FromStr;

/// A strategy for concurrent changes of a stock. All but the last keep the rule even if processes are paused or killed, and requests may
/// use different ones for the same product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strategy {
    /// Read, compute, and write if the version is unchanged; otherwise retry.
    Optimistic,
    /// Lock the row in the database, compute, write.
    Pessimistic,
    /// A lock on Redis (or in the process) with a fencing token that the transaction checks first.
    RedisLock,
    /// Like `redis-lock`, with a fixed number of locks that all products share.
    Striped,
    /// Like `redis-lock`, with a lock on a majority of independent servers.
    Redlock,
    /// One `UPDATE` whose condition is the rule.
    ConditionalUpdate,
    /// The stock is split over several rows, so that changes of one product do not wait for each other.
    Segmented,
    /// A demonstration: a lock whose fencing token is not checked. Loses changes when a holder is paused.
    Unfenced,
}

/// The strategy does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown strategy {0:?}; available: {names}", names = Strategy::names())]
pub struct UnknownStrategy(String);

impl Strategy {
    /// All strategies; the demonstration is the last.
    pub const ALL: [Self; 8] = [
        Self::Optimistic,
        Self::Pessimistic,
        Self::RedisLock,
        Self::Striped,
        Self::Redlock,
        Self::ConditionalUpdate,
        Self::Segmented,
        Self::Unfenced,
    ];

    /// Its name in requests, settings and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Optimistic => "optimistic",
            Self::Pessimistic => "pessimistic",
            Self::RedisLock => "redis-lock",
            Self::Striped => "striped",
            Self::Redlock => "redlock",
            Self::ConditionalUpdate => "conditional-update",
            Self::Segmented => "segmented",
            Self::Unfenced => "unfenced",
        }
    }

    /// Whether it keeps the rule.
    #[must_use]
    pub const fn is_safe(self) -> bool {
        !matches!(self, Self::Unfenced)
    }

    /// Whether it acquires a lock outside of the database.
    #[must_use]
    pub const fn uses_lock(self) -> bool {
        matches!(self, Self::RedisLock | Self::Striped | Self::Redlock | Self::Unfenced)
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|strategy| strategy.name() == text);
        named.ok_or_else(|| UnknownStrategy(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::Strategy;

    #[test]
    fn strategy_name_round_trips() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.name().parse(), Ok(strategy));
        }
        let error = "luck".parse::<Strategy>().map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.starts_with("unknown strategy \"luck\"; available: optimistic, ")));
    }
}
