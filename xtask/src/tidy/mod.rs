//! `cargo xtask tidy`: the rules of this repository that a program can check, one file each.
//!
//! They also run as a test, so that nothing is checked anywhere that `cargo nextest run` does not check.

mod boundaries;
mod changelog;
mod extremes;
mod guarantees;
mod guards;
mod hazards;
mod headers;
mod keyspace;
mod links;
mod lua;
mod manifests;
mod markdown;
mod metrics;
mod panics;
mod sentences;
mod sizes;
mod source;
mod text;
mod tree;
mod waits;

use anyhow::{Result, bail};
use tree::Tree;

/// One rule: what it is called, what it wants, and how it looks.
struct Rule {
    name: &'static str,
    wants: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1; 0 where the whole file is meant.
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
    boundaries::RULE,
    panics::RULE,
    waits::RULE,
    text::RULE,
    lua::RULE,
    manifests::RULE,
    guards::RULE,
    guarantees::RULE,
    hazards::RULE,
    sentences::RULE,
    extremes::RULE,
    keyspace::RULE,
    metrics::RULE,
    links::RULE,
    changelog::RULE,
];

/// Prints what breaks a rule, and fails if anything does.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::of_repository()?;
    let mut broken = 0;
    for rule in RULES {
        let findings = (rule.check)(&tree);
        if !findings.is_empty() {
            println!("{}: {}", rule.name, rule.wants);
        }
        for Finding { path, line, what } in &findings {
            println!("  {path}:{line}: {what}");
        }
        broken += findings.len();
    }
    if broken > 0 {
        bail!("tidy: {broken} places break a rule");
    }
    println!("tidy: {} rules hold in {} files", RULES.len(), tree.files().len());
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() -> anyhow::Result<()> {
        super::run()
    }
}
