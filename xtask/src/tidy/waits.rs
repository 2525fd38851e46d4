//! Tests wait for events, never for time.

use super::{Finding, Rule, Tree};

pub(crate) const RULE: Rule = Rule {
    name: "waits",
    wants: "no test sleeps (wait for a channel, a `Notify`, a blocking command, or `testkit`'s `eventually` for foreign processes)",
    check,
};

const NAMES: &[&str] = &["sleep(", "sleep_until(", "interval("];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let all = file.is_test() || file.is_under(&["crates/testkit/src/conformance"]);
        for (line, code) in source.code().filter(|(line, _)| all || source.is_test(*line)) {
            let names = NAMES.iter().filter(|name| calls(code, name));
            findings.extend(names.map(|name| Finding::new(&file.path, line, format!("`{name}..)` in a test"))));
        }
    }
    findings
}

/// Whether the line calls the function itself, not one whose name ends alike, and does not declare it.
fn calls(code: &str, name: &str) -> bool {
    let before = |at: usize| code[..at].chars().next_back();
    let starts = |at: usize| !before(at).is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(name).any(|(at, _)| starts(at) && !code[..at].ends_with("fn "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_test_is_found() {
        let tree = Tree::of([
            ("crates/evenkeel/src/clock.rs", "tokio::time::sleep(span);"),
            ("crates/evenkeel/tests/it/cache.rs", "nap_sleep(1);\ntokio::time::sleep(span).await;"),
        ]);
        assert_eq!(check(&tree), [Finding::new("crates/evenkeel/tests/it/cache.rs", 2, "`sleep(..)` in a test")]);
    }
}
