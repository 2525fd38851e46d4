//! docs/guarantees.md names, for each guarantee of a specification, the tests that check it, and these tests exist.

use super::{Finding, Rule, Tree, markdown};
use crate::tidy::tree::File;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/guarantees.md";

pub(crate) const RULE: Rule = Rule {
    name: "guarantees",
    requires: "each guarantee in docs/spec (in bold: **C1**) has a row in docs/guarantees.md, whose tests exist",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let stated = stated(tree);
    let tests = Tests::of(tree);
    let mut shown = BTreeSet::new();
    let rows = tree.file(PAGE).map(|page| markdown::rows(&page.text)).unwrap_or_default();
    for (line, cells) in rows {
        let Some(id) = cells.first().map(|cell| cell.trim_matches('*')).filter(|cell| is_id(cell)) else { continue };
        let mut find = |what: String| findings.push(Finding::new(PAGE, line, what));
        if !shown.insert(id.to_owned()) {
            find(format!("{id} has two rows"));
        }
        if !stated.contains_key(id) {
            find(format!("no specification states {id}"));
        }
        let named = cells.get(2).map(|cell| markdown::code(cell)).unwrap_or_default();
        if named.is_empty() {
            find(format!("{id} names no test"));
        }
        for name in named.iter().filter(|name| !tests.has(name)) {
            find(format!("{id}: there is no test `{name}`"));
        }
    }
    for (id, (path, line)) in stated.iter().filter(|(id, _)| !shown.contains(*id)) {
        findings.push(Finding::new(path, *line, format!("{id} has no row in {PAGE}")));
    }
    findings
}

/// Every guarantee, and where it is first stated.
fn stated(tree: &Tree) -> BTreeMap<String, (String, usize)> {
    let mut stated = BTreeMap::new();
    for file in tree.files().iter().filter(|file| file.is_under(&["docs/spec/"])) {
        for (line, text) in file.lines() {
            for part in text.split("**").skip(1).step_by(2) {
                let id: String = part.chars().take_while(char::is_ascii_alphanumeric).collect();
                if is_id(&id) {
                    stated.entry(id).or_insert_with(|| (file.path.clone(), line));
                }
            }
        }
    }
    stated
}

/// One or two capital letters and a number, as in `C1`.
fn is_id(word: &str) -> bool {
    let number = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = word.len() - number.len();
    (1..=2).contains(&letters) && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

/// The modules that macros generate, in which a suite runs on each store or database.
const GENERATED: [&str; 6] = ["mariadb", "memory", "mysql", "postgres", "redis", "sqlite"];

/// All functions in test code, and the files that declare them.
pub(super) struct Tests<'a>(BTreeMap<&'a str, Vec<&'a File>>);

impl<'a> Tests<'a> {
    pub(super) fn of(tree: &'a Tree) -> Self {
        let mut files: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
        for file in tree.rust() {
            let is_of_kit = file.is_under(&["crates/testkit/"]);
            let lines: Vec<_> = if is_of_kit { file.lines().collect() } else { file.test_lines().collect() };
            lines
                .into_iter()
                .filter_map(|(_, line)| function(line))
                .for_each(|name| files.entry(name).or_default().push(file));
        }
        Self(files)
    }

    /// Whether there is a test of this path. The modules in front of its name may be any of those that contain it.
    pub(super) fn has(&self, path: &str) -> bool {
        let (modules, name) = path.rsplit_once("::").unwrap_or(("", path));
        let files = self.0.get(name).into_iter().flatten();
        files.copied().any(|file| modules.split("::").all(|module| contains(file, module)))
    }
}

/// Whether tests of this file are in a module of this name.
fn contains(file: &File, module: &str) -> bool {
    let mut of_path = file.path.trim_end_matches(".rs").split('/');
    let is_declared = || file.text.contains(&format!("mod {module} {{"));
    module.is_empty() || GENERATED.contains(&module) || of_path.any(|part| part == module) || is_declared()
}

/// The name of the function that this line declares.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_declaration = before.is_empty() || before.ends_with(' ');
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&after[..end]).filter(|name| is_declaration && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(spec: &str, page: &str) -> Vec<String> {
        let test = "fn a_stale_fill_is_refused() {}\n";
        let tree = Tree::of([("docs/spec/cache.md", spec), (PAGE, page), ("crates/evenkeel/tests/it/cache.rs", test)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn guarantee_needs_row_and_existing_tests() {
        let row = "| **C1** | promise | `cache::a_stale_fill_is_refused` | nowhere |\n";
        assert_eq!(found("**C1** An invalidation wins.\n", row), Vec::<String>::new());
        assert_eq!(found("**C1. An invalidation wins.** And **bold** text.\n", row), Vec::<String>::new());
        assert_eq!(found("**C1** and **C2**\n", row), ["C2 has no row in docs/guarantees.md"]);
        assert_eq!(found("Later: C1\n", row), ["no specification states C1"]);
        let other = "| C1 | promise | `another_test` | nowhere |\n";
        assert_eq!(found("**C1**\n", other), ["C1: there is no test `another_test`"]);
        let moved = "| C1 | promise | `lock::a_stale_fill_is_refused` | nowhere |\n";
        assert_eq!(found("**C1**\n", moved), ["C1: there is no test `lock::a_stale_fill_is_refused`"]);
        assert_eq!(found("**C1**\n", "| C1 | promise | soon | nowhere |\n"), ["C1 names no test"]);
    }
}
