//! docs/guarantees.md names, for each guarantee of a specification, the tests that show it.

use super::shows::{Made, REMEDY, Shown};
use super::{Finding, Rule, Tree, markdown};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/guarantees.md";
/// The columns of a row: id, promise, tests, where it does not hold.
const TESTS: usize = 2;

pub(super) const MADE: Made = Made { page: PAGE, column: TESTS, name: |cell| promise(cell).map(str::to_owned) };

pub(crate) const RULE: Rule = Rule {
    name: "guarantees",
    requires: "each guarantee in docs/spec (in bold: **C1**) has a row in docs/guarantees.md, with the tests that show it",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let stated = stated(tree);
    let tests = Shown::of(tree);
    let mut shown = BTreeSet::new();
    let rows = tree.file(PAGE).map(|page| markdown::rows(&page.text)).unwrap_or_default();
    for (line, cells) in rows {
        let Some(id) = cells.first().and_then(|cell| promise(cell)) else { continue };
        let mut find = |what: String| findings.push(Finding::new(PAGE, line, what));
        if !shown.insert(id.to_owned()) {
            find(format!("{id} has two rows"));
        }
        if !stated.contains_key(id) {
            find(format!("no specification states {id}"));
        }
        let cell = cells.get(TESTS).unwrap_or(&"");
        if tests.cell(id).is_none() {
            find(format!("no test shows {id}"));
        } else if !tests.agrees(id, cell) {
            find(format!("{id}: {REMEDY}"));
        }
    }
    for (id, (path, line)) in stated.iter().filter(|(id, _)| !shown.contains(*id)) {
        findings.push(Finding::new(path, *line, format!("{id} has no row in {PAGE}")));
    }
    findings
}

/// The promise of a row, by its first cell.
fn promise(cell: &str) -> Option<&str> {
    Some(cell.trim_matches('*')).filter(|id| is_id(id))
}

/// Every guarantee, and where it is first stated.
pub(super) fn stated(tree: &Tree) -> BTreeMap<String, (String, usize)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(spec: &str, page: &str) -> Vec<String> {
        let test = "// shows: C1\nfn a_stale_fill_is_refused() {}\n";
        let tree = Tree::of([("docs/spec/cache.md", spec), (PAGE, page), ("crates/evenkeel/tests/it/cache.rs", test)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn guarantee_needs_row_and_tests() {
        let row = "| **C1** | promise | `cache::a_stale_fill_is_refused` | nowhere |\n";
        assert_eq!(found("**C1** An invalidation wins.\n", row), Vec::<String>::new());
        assert_eq!(found("**C1. An invalidation wins.** And **bold** text.\n", row), Vec::<String>::new());
        assert_eq!(found("**C1** and **C2**\n", row), ["C2 has no row in docs/guarantees.md"]);
        assert_eq!(found("Later: C1\n", row), ["no specification states C1"]);
        let other = "| C1 | promise | `another_test` | nowhere |\n";
        assert_eq!(found("**C1**\n", other), [format!("C1: {REMEDY}")]);
        assert_eq!(found("**C1** **C2**\n", &format!("{row}| C2 | promise | | |\n")), ["no test shows C2"]);
    }
}
