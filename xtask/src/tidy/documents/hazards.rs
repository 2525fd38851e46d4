//! docs/hazards.md names, for each hazard, its tests and its guards, and these exist.

use super::shows::{Made, REMEDY, Shown};
use super::{Finding, Rule, Tree, guards, markdown};
use std::collections::BTreeSet;

const PAGE: &str = "docs/hazards.md";

/// The columns of a row: id, hazard, countermeasure or origin, tests, guards.
const TESTS: usize = 3;
const GUARDS: usize = 4;

pub(super) const MADE: Made = Made { page: PAGE, column: TESTS, name: |cell| is_id(cell).then(|| name(cell)) };

pub(crate) const RULE: Rule = Rule {
    name: "hazards",
    requires: "each row of docs/hazards.md has the tests that show it (or `later: ..`, or `see` another row) and guards of the mutant table",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (tests, table) = (Shown::of(tree), guards::table(tree));
    let rows = tree.file(PAGE).map(|page| markdown::rows(&page.text)).unwrap_or_default();
    let rows: Vec<_> = rows.into_iter().filter(|(_, cells)| cells.first().is_some_and(|cell| is_id(cell))).collect();
    let mut ids = BTreeSet::new();
    for (line, cells) in &rows {
        let id = cells[0];
        let mut find = |what: String| findings.push(Finding::new(PAGE, *line, what));
        if !ids.insert(id) {
            find(format!("{id} has two rows"));
        }
        let cell = cells.get(TESTS).unwrap_or(&"");
        let elsewhere = cell.strip_prefix("see ").is_some_and(|other| rows.iter().any(|(_, cells)| cells[0] == other));
        let name = name(id);
        if tests.cell(&name).is_none() && !elsewhere && !cell.starts_with("later: ") {
            find(format!("no test shows {id}"));
        } else if !tests.agrees(&name, cell) {
            find(format!("{id}: {REMEDY}"));
        }
        let guards = cells.get(GUARDS).map(|cell| markdown::code(cell)).unwrap_or_default();
        for name in guards.iter().filter(|name| !table.contains(**name)) {
            find(format!("{id}: the guard `{name}` is not in the mutant table"));
        }
    }
    findings
}

/// A hazard as tests name it: promises have numbers of the same form.
fn name(id: &str) -> String {
    format!("hazard {id}")
}

/// The names of the page's hazards.
pub(super) fn ids(tree: &Tree) -> Vec<String> {
    let rows = tree.file(PAGE).map(|page| markdown::rows(&page.text)).unwrap_or_default();
    rows.iter().filter_map(|(_, cells)| cells.first()).filter(|cell| is_id(cell)).map(|cell| name(cell)).collect()
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
            ("crates/evenkeel/tests/it/cache/fences.rs", "// shows: hazard H1\nfn a_stale_fill_is_refused() {}\n"),
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
        assert_eq!(found(&["| H1 | bug | rule | soon | |\n"]), [format!("H1: {REMEDY}")]);
        assert_eq!(found(&[see]), ["no test shows H2"]);
        let wrong = "| H1 | bug | rule | `another_test` | `unknown` |\n";
        let unknown = "H1: the guard `unknown` is not in the mutant table".to_owned();
        assert_eq!(found(&[wrong]), [format!("H1: {REMEDY}"), unknown]);
        let none = "| AL2a | bug | rule | soon | `known` |\n";
        assert_eq!(found(&[none]), ["no test shows AL2a"]);
    }
}
