//! docs/metrics.md has a row for every metric in the sources, and no other rows.

use super::{Finding, Rule, Tree, markdown};
use std::collections::BTreeMap;

const PAGE: &str = "docs/metrics.md";
const TABLES: &str = "docs/keyspace.md";
const ADVICE: &str = "docs/operations.md";
const INSIDE: &[&str] = &[
    "crates/link/src/",
    "crates/protocol/src/",
    "crates/evenkeel/src/",
    "crates/published/src/",
    "crates/server/src/",
    "crates/web/src/",
    "apps/",
];
const PREFIXES: &[&str] = &["evenkeel_", "shortlink_", "stockroom_", "web_"];
const MACROS: &[&str] = &["counter!(\"", "gauge!(\"", "histogram!(\""];

pub(crate) const RULE: Rule = Rule {
    name: "metrics",
    requires: "the name of a metric begins with evenkeel_, shortlink_, stockroom_, or web_ (both services), and docs/metrics.md has a row for each and no other",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for file in tree.rust().filter(|file| file.is_under(INSIDE) && !file.is_test()) {
        for (line, code) in file.code() {
            for name in code.split('"').filter(|name| is_metric(name) && !is_table(tree, name)) {
                used.entry(name).or_insert((&file.path, line));
            }
            if MACROS.iter().any(|name| code.contains(name)) && !code.split('"').any(is_metric) {
                let what = format!("a metric without a known prefix: `{}`", code.trim());
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    let rows = tree.file(PAGE).map(|page| markdown::rows(&page.text)).unwrap_or_default();
    let listed: Vec<(usize, &str)> = rows
        .iter()
        .flat_map(|(line, cells)| markdown::code(cells[0]).into_iter().map(|name| (*line, name)))
        .filter(|(_, name)| is_metric(name))
        .collect();
    for (name, (path, line)) in used.iter().filter(|(name, _)| !listed.iter().any(|(_, row)| row == *name)) {
        findings.push(Finding::new(path, *line, format!("`{name}` has no row in {PAGE}")));
    }
    for (line, name) in advised(tree).into_iter().filter(|(_, name)| !used.contains_key(name)) {
        findings.push(Finding::new(ADVICE, line, format!("there is no metric `{name}`")));
    }
    for (line, name) in listed.iter().filter(|(_, name)| !used.contains_key(name)) {
        findings.push(Finding::new(PAGE, *line, format!("no source mentions `{name}`")));
    }
    findings
}

/// The metrics in docs/operations.md, including those in expressions.
fn advised(tree: &Tree) -> Vec<(usize, &str)> {
    let lines = tree.file(ADVICE).into_iter().flat_map(|page| page.lines());
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    lines
        .flat_map(|(line, text)| text.split(word).filter(|name| is_metric(name)).map(move |name| (line, name)))
        .collect()
}

/// SQL tables have the same prefix; docs/keyspace.md lists them.
fn is_table(tree: &Tree, name: &str) -> bool {
    tree.file(TABLES).is_some_and(|page| page.text.contains(&format!("`{name}`")))
}

fn is_metric(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    PREFIXES.iter().any(|prefix| text.len() > prefix.len() && text.starts_with(prefix)) && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_page_agree() {
        let source = "let a = counter!(\"evenkeel_cache_hits_total\", \"cache\" => name);\nlet b = gauge!(\"open\");\nconst C: &str = \"evenkeel_link_epoch\";\n";
        let page = "| name | kind |\n|---|---|\n| `evenkeel_link_epoch` | gauge |\n| `evenkeel_gone` | gauge |\n";
        let tree = Tree::of([
            ("crates/evenkeel/src/cache/metrics.rs", source),
            (PAGE, page),
            (ADVICE, "alert: `rate(evenkeel_nothing_total[5m]) > 0`\n"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| finding.what).collect();
        let expected = [
            "a metric without a known prefix: `let b = gauge!(\"open\");`",
            "`evenkeel_cache_hits_total` has no row in docs/metrics.md",
            "there is no metric `evenkeel_nothing_total`",
            "no source mentions `evenkeel_gone`",
        ];
        assert_eq!(found, expected);
    }
}
