//! docs/hazards.md names, for each hazard, its tests and its guards, and these exist.

use super::guarantees::Tests;
use super::{Finding, Rule, Tree, guards, markdown};
use std::collections::BTreeSet;

const PAGE: &str = "docs/hazards.md";

/// The columns of a row: id, hazard, countermeasure or origin, tests, guards.
const TESTS: usize = 3;
const GUARDS: usize = 4;

pub(crate) const RULE: Rule = Rule {
    name: "hazards",
    requires: "each row of docs/hazards.md names existing tests (or `later: ..`, or `see` another row) and guards of the mutant table",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (tests, table) = (Tests::of(tree), guards::table(tree));
    let rows = tree.file(PAGE).map(|page| markdown::rows(&page.text)).unwrap_or_default();
    let rows: Vec<_> = rows.into_iter().filter(|(_, cells)| is_id(cells.first().unwrap_or(&""))).collect();
    let mut ids = BTreeSet::new();
    for (line, cells) in &rows {
        let id = cells[0];
        let mut find = |what: String| findings.push(Finding::new(PAGE, *line, what));
        if !ids.insert(id) {
            find(format!("{id} has two rows"));
        }
        let cell = cells.get(TESTS).unwrap_or(&"");
        let named = markdown::code(cell);
        let elsewhere = cell.strip_prefix("see ").is_some_and(|other| rows.iter().any(|(_, cells)| cells[0] == other));
        if named.is_empty() && !elsewhere && !cell.starts_with("later: ") {
            find(format!("{id} names no test"));
        }
        for name in named.iter().filter(|name| !tests.has(name)) {
            find(format!("{id}: there is no test `{name}`"));
        }
        let guards = cells.get(GUARDS).map(|cell| markdown::code(cell)).unwrap_or_default();
        for name in guards.iter().filter(|name| !table.contains(**name)) {
            find(format!("{id}: the guard `{name}` is not in the mutant table"));
        }
    }
    findings
}

/// One or two capital letters and a number, possibly with a small letter, as in `H1` and `AL2a`.
fn is_id(word: &str) -> bool {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let number = rest.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(rest);
    let letters = word.len() - rest.len();
    (1..=2).contains(&letters) && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &[&str]) -> Vec<String> {
        let page = rows.concat();
        let tree = Tree::of([
            (PAGE, page.as_str()),
            ("crates/evenkeel/tests/it/cache/fences.rs", "fn a_stale_fill_is_refused() {}\n"),
            ("crates/testkit/src/mutants.rs", "const ROWS: &[&str] = &[\"known\"];"),
        ]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn rows_name_existing_tests_and_guards() {
        let good = "| H1 | bug | rule | `fences::a_stale_fill_is_refused` | `known` |\n";
        let (later, see) = ("| N1 | bug | rule | later: pushes | |\n", "| H2 | bug | rule | see H1 | |\n");
        assert_eq!(found(&[good, later, see]), Vec::<String>::new());
        assert_eq!(found(&[good, good]), ["H1 has two rows"]);
        assert_eq!(found(&["| H1 | bug | rule | soon | |\n"]), ["H1 names no test"]);
        assert_eq!(found(&[see]), ["H2 names no test"]);
        let wrong = "| H1 | bug | rule | `another_test` | `unknown` |\n";
        let reported = ["H1: there is no test `another_test`", "H1: the guard `unknown` is not in the mutant table"];
        assert_eq!(found(&[wrong]), reported);
        let other_module = "| AL2a | bug | rule | `locks::a_stale_fill_is_refused` | `known` |\n";
        assert_eq!(found(&[other_module]), ["AL2a: there is no test `locks::a_stale_fill_is_refused`"]);
    }
}
