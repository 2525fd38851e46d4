//! The modes of caches and writes.

use clap::ValueEnum;
use serde::Deserialize;

/// The consistency of the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheMode {
    /// Writes are accepted while Redis is unreachable; the caches are invalidated when it is back.
    #[default]
    Eventual,
    /// No instance serves the state before a write; writes are refused while Redis is unreachable.
    Strong,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// After the database commit.
    #[default]
    Through,
    /// Once it is on the local disk (write-behind).
    Behind,
}

/// Whether clicks are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClickMode {
    /// Each redirect is counted.
    #[default]
    On,
    /// Redirects are not counted.
    Off,
}
