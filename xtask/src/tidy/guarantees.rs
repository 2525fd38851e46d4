//! docs/guarantees.md names, for each promise a specification claims, the tests that show it; and those tests exist.

use super::{Finding, Rule, Tree, markdown};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/guarantees.md";

pub(crate) const RULE: Rule = Rule {
    name: "guarantees",
    wants: "each promise claimed in docs/spec (bold: **C1**) has a row in docs/guarantees.md, whose tests exist",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let claimed = claimed(tree);
    let tests = tests(tree);
    let mut shown = BTreeSet::new();
    let rows = tree.file(PAGE).map(|page| markdown::rows(&page.text)).unwrap_or_default();
    for (line, cells) in rows {
        let Some(id) = cells.first().map(|cell| cell.trim_matches('*')).filter(|cell| is_id(cell)) else { continue };
        let mut find = |what: String| findings.push(Finding::new(PAGE, line, what));
        if !shown.insert(id.to_owned()) {
            find(format!("{id} has two rows"));
        }
        if !claimed.contains_key(id) {
            find(format!("no specification claims {id}"));
        }
        let named = cells.get(2).map(|cell| markdown::code(cell)).unwrap_or_default();
        if named.is_empty() {
            find(format!("{id} names no test"));
        }
        for name in named.iter().filter(|name| !tests.contains(name.rsplit("::").next().unwrap_or(name))) {
            find(format!("{id}: there is no test `{name}`"));
        }
    }
    for (id, (path, line)) in claimed.iter().filter(|(id, _)| !shown.contains(*id)) {
        findings.push(Finding::new(path, *line, format!("{id} has no row in {PAGE}")));
    }
    findings
}

/// Every promise, and where it is first claimed.
fn claimed(tree: &Tree) -> BTreeMap<String, (String, usize)> {
    let mut claimed = BTreeMap::new();
    for file in tree.files().iter().filter(|file| file.is_under(&["docs/spec/"])) {
        for (line, text) in file.lines() {
            for part in text.split("**").skip(1).step_by(2) {
                let id: String = part.chars().take_while(char::is_ascii_alphanumeric).collect();
                if is_id(&id) {
                    claimed.entry(id).or_insert_with(|| (file.path.clone(), line));
                }
            }
        }
    }
    claimed
}

/// One or two capital letters and a number, as in `C1`.
fn is_id(word: &str) -> bool {
    let number = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = word.len() - number.len();
    (1..=2).contains(&letters) && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

/// The names of all functions that are test code.
pub(super) fn tests(tree: &Tree) -> BTreeSet<&str> {
    let functions = tree.rust().flat_map(|(file, source)| {
        let all = file.is_test() || file.is_under(&["crates/testkit/"]);
        source.functions().iter().filter(move |function| all || source.is_test(*function.lines.start()))
    });
    functions.map(|function| function.name.as_str()).collect()
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
    fn claims_rows_and_tests_belong_together() {
        let row = "| **C1** | promise | `cache::a_stale_fill_is_refused` | nowhere |\n";
        assert_eq!(found("**C1** An invalidation wins.\n", row), Vec::<String>::new());
        assert_eq!(found("**C1. An invalidation wins.** And **bold** text.\n", row), Vec::<String>::new());
        assert_eq!(found("**C1** and **C2**\n", row), ["C2 has no row in docs/guarantees.md"]);
        assert_eq!(found("Later: C1\n", row), ["no specification claims C1"]);
        let other = "| C1 | promise | `another_test` | nowhere |\n";
        assert_eq!(found("**C1**\n", other), ["C1: there is no test `another_test`"]);
        assert_eq!(found("**C1**\n", "| C1 | promise | soon | nowhere |\n"), ["C1 names no test"]);
    }
}
