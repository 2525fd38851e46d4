//! Libraries and programs do not panic on purpose; a caller gets an error that says what to do.

use super::{Finding, Rule, Tree};

const INSIDE: &[&str] = &["crates/evenkeel/src/", "crates/server/src/", "apps/"];
const NAMES: &[&str] =
    &[".unwrap()", ".expect(", ".unwrap_err()", ".expect_err(", "panic!(", "todo!(", "unimplemented!("];

pub(crate) const RULE: Rule = Rule {
    name: "panics",
    wants: "no unwrap, expect, panic or todo in libraries and programs outside `#[cfg(test)]` (return an error)",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| file.is_under(INSIDE) && !file.is_test()) {
        for (line, code) in source.code().filter(|(line, _)| !source.is_test(*line)) {
            let names = NAMES.iter().filter(|name| code.contains(**name));
            findings.extend(names.map(|name| Finding::new(&file.path, line, format!("`{name}`"))));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_outside_tests_is_found() {
        let text = "#[expect(lint)]\nfn f() {\n    a.unwrap_or(1);\n    b.unwrap();\n}\n#[cfg(test)]\nmod tests {\n    fn g() { c.unwrap() }\n}\n";
        let tree =
            Tree::of([("crates/evenkeel/src/lib.rs", text), ("crates/evenkeel/tests/it/main.rs", "a.unwrap();")]);
        assert_eq!(check(&tree), [Finding::new("crates/evenkeel/src/lib.rs", 4, "`.unwrap()`")]);
    }
}
