//! `cargo xtask tidy`: the repository's own rules, one file each, that neither the compiler nor clippy checks.
//!
//! The rules also run as a test, so `cargo nextest run` checks them, too.

mod documents;
mod extremes;
mod generics;
mod guards;
mod headers;
mod lua;
mod manifests;
mod sizes;
mod tasks;
mod text;
mod tree;

use crate::shell;
use anyhow::{Context, Result, bail};
use tree::Tree;

/// One rule.
struct Rule {
    name: &'static str,
    /// What the rule requires.
    requires: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1; 0 means the whole file.
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

const RULES: &[Rule] = &[
    headers::RULE,
    sizes::RULE,
    text::RULE,
    tasks::RULE,
    lua::RULE,
    manifests::RULE,
    guards::RULE,
    generics::RULE,
    documents::guarantees::RULE,
    documents::hazards::RULE,
    documents::shows::RULE,
    extremes::RULE,
    documents::keyspace::RULE,
    documents::metrics::RULE,
    documents::links::RULE,
    documents::changelog::RULE,
];

#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// Write the columns of tests in docs/guarantees.md and docs/hazards.md first
    #[arg(long)]
    write: bool,
}

/// Prints every violation, and fails if there is one.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.write {
        for (page, text) in documents::made(&Tree::of_repository()?) {
            std::fs::write(shell::root().join(page), text).with_context(|| format!("{page} could not be written"))?;
        }
    }
    let tree = Tree::of_repository()?;
    let mut violations = 0;
    for rule in RULES {
        let findings = (rule.check)(&tree);
        if !findings.is_empty() {
            println!("{}: {}", rule.name, rule.requires);
        }
        for Finding { path, line, what } in &findings {
            println!("  {path}:{line}: {what}");
        }
        violations += findings.len();
    }
    if violations > 0 {
        bail!("tidy: {violations} violations");
    }
    println!("tidy: {} rules, {} files, no violations", RULES.len(), tree.files().len());
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() -> anyhow::Result<()> {
        super::run(&super::Arguments::default())
    }
}
