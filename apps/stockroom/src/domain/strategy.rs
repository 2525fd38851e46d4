//! [`Strategy`]: the ways to change a stock while others do, by name.

use std::fmt;
use std::str::FromStr;

/// A way to change a stock while others do. All but the last keep the rule, whatever happens to those that use them, and may be
/// used side by side on one product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strategy {
    /// Read, decide, write if nobody wrote in between; else again.
    Optimistic,
    /// Lock the row in the database, read, decide, write.
    Pessimistic,
    /// A lock on Redis (or in the process), its fence first in the transaction.
    RedisLock,
    /// As `redis-lock`, with a few locks that all products share.
    Striped,
    /// As `redis-lock`, with a lock on a majority of independent servers.
    Redlock,
    /// One statement that changes the row only where the rule holds.
    ConditionalUpdate,
    /// The stock is split over several rows, so that changes of one product need not wait for each other.
    Segmented,
    /// A demonstration: a lock whose fence nobody checks. Loses changes as soon as a holder is paused.
    Unfenced,
}

/// There is no strategy of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no strategy {0:?}; there are {names}", names = Strategy::names())]
pub struct StrategyRefused(String);

impl Strategy {
    /// All of them; the demonstration comes last.
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

    /// Whether it takes a lock outside of the database.
    #[must_use]
    pub const fn takes_a_lock(self) -> bool {
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
    type Err = StrategyRefused;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|strategy| strategy.name() == text);
        named.ok_or_else(|| StrategyRefused(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::Strategy;

    #[test]
    fn every_name_is_read_back() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.name().parse(), Ok(strategy));
        }
        let why = "luck".parse::<Strategy>().map_err(|why| why.to_string());
        assert_eq!(
            why.err().as_deref().map(|why| why.starts_with("there is no strategy \"luck\"; there are optimistic, ")),
            Some(true)
        );
    }
}
