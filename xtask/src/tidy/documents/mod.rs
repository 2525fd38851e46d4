//! Rules that compare the documents with the sources.

pub(super) mod changelog;
pub(super) mod guarantees;
pub(super) mod hazards;
pub(super) mod keyspace;
pub(super) mod links;
mod markdown;
pub(super) mod metrics;
pub(super) mod sentences;

use super::{Finding, Rule, Tree, guards};
