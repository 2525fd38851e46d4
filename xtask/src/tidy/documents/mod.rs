//! Rules that compare the documents with the sources.

pub(super) mod changelog;
pub(super) mod guarantees;
pub(super) mod hazards;
mod items;
pub(super) mod keyspace;
pub(super) mod links;
mod markdown;
pub(super) mod metrics;
pub(super) mod shows;

use super::{Finding, Rule, Tree, guards};

/// The pages with a column that is made from the tests, as the tests have them.
pub(super) fn made(tree: &Tree) -> impl Iterator<Item = (&'static str, String)> {
    [&guarantees::MADE, &hazards::MADE].into_iter().filter_map(|made| Some((made.page, made.text(tree)?)))
}
