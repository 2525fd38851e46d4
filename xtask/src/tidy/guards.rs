//! Every removable protocol guard has a row in the mutant table, which names the test that must fail without it.

use super::{Finding, Rule, Tree};
use crate::tidy::tree::File;
use std::collections::BTreeSet;

const TABLE: &str = "crates/testkit/src/mutants";
const LUA_MARK: &str = "-- guard: ";

pub(crate) const RULE: Rule = Rule {
    name: "guards",
    requires: "every guard in the sources and scripts has a row in the mutant table of the test kit",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let table = table(tree);
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| is_guarded(file)) {
        let guards: Vec<(usize, &str)> = if file.is_rust() {
            file.code().flat_map(|(line, text)| called(line, text)).collect()
        } else if file.path.ends_with(".lua") {
            file.lines().filter_map(|(line, text)| Some((line, text.split_once(LUA_MARK)?.1.trim()))).collect()
        } else {
            Vec::new()
        };
        for (line, name) in guards.into_iter().filter(|(_, name)| !table.contains(name)) {
            findings.push(Finding::new(&file.path, line, format!("the guard `{name}` has no row in {TABLE}.rs")));
        }
    }
    findings
}

/// The library, the program and the applications.
fn is_guarded(file: &File) -> bool {
    file.in_library().is_some() || file.is_under(&["crates/server/src/", "apps/"])
}

/// Every quoted word in the sources of the mutant table, which includes the names of the guards.
pub(super) fn table(tree: &Tree) -> BTreeSet<&str> {
    let sources = tree.rust().filter(|file| file.path.starts_with(TABLE));
    let quoted = sources.flat_map(|file| file.text.split('"'));
    quoted
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'))
        .collect()
}

fn called(line: usize, text: &str) -> Vec<(usize, &str)> {
    text.split("guard(\"").skip(1).filter_map(|rest| Some((line, rest.split_once('"')?.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guard_without_row_is_found() {
        let source = "//! `guard(\"example\")` is only a comment.\nif guard(\"known\") && guard(\"unknown\") {}\n";
        let script = "if a then return 0 end -- guard: script_only\n";
        let tree = Tree::of([
            ("crates/protocol/src/cache/memory.rs", source),
            ("crates/protocol/src/cache/scripts/fill-1.lua", script),
            ("apps/shortlink/src/service/clicks/mod.rs", "if guard(\"of_an_application\") {}\n"),
            ("crates/testkit/src/mutants.rs", "const ROWS: &[&str] = &[\"known\"];"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| (finding.line, finding.what)).collect();
        let expected = [
            (2, "the guard `unknown` has no row in crates/testkit/src/mutants.rs".to_owned()),
            (1, "the guard `script_only` has no row in crates/testkit/src/mutants.rs".to_owned()),
            (1, "the guard `of_an_application` has no row in crates/testkit/src/mutants.rs".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
