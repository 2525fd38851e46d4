//! How caches and writes work, as settings say it.

use clap::ValueEnum;
use serde::Deserialize;

/// How far redirects may lag behind writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheMode {
    /// Writes go on while Redis is away, and the caches follow.
    #[default]
    Eventual,
    /// No instance serves the state before a write; without Redis writes are refused.
    Strong,
}

/// When a write is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// Once the database has it.
    #[default]
    Through,
    /// Once this machine's disk has it; the database follows.
    Behind,
}
