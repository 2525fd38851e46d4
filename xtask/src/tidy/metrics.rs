//! docs/metrics.md has a row for every metric in the sources, and for no other.

use super::{Finding, Rule, Tree, markdown};
use std::collections::BTreeMap;

const PAGE: &str = "docs/metrics.md";
const TABLES: &str = "docs/keyspace.md";
const ADVICE: &str = "docs/operations.md";
const INSIDE: &[&str] = &["crates/evenkeel/src/", "crates/server/src/", "apps/"];
const PREFIXES: &[&str] = &["evenkeel_", "shortlink_", "stockroom_", "web_"];
const MACROS: &[&str] = &["counter!(\"\"", "gauge!(\"\"", "histogram!(\"\""];

pub(crate) const RULE: Rule = Rule {
    name: "metrics",
    wants: "a metric's name begins with its program (evenkeel_, shortlink_, stockroom_; web_ where both services have it), and docs/metrics.md has a row for each and no other",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for (file, source) in tree.rust().filter(|(file, _)| file.is_under(INSIDE) && !file.is_test()) {
        for (line, name) in source.strings().filter(|(line, _)| !source.is_test(*line)) {
            if is_metric(name) && !is_table(tree, name) {
                used.entry(name).or_insert((&file.path, line));
            }
        }
        for (line, code) in source.code().filter(|(_, code)| MACROS.iter().any(|name| code.contains(name))) {
            let named = source.strings().any(|(at, name)| at == line && is_metric(name));
            if !named {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("a metric without a known prefix: `{}`", code.trim()),
                ));
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

/// The metrics the operators' page speaks of, inside expressions too.
fn advised(tree: &Tree) -> Vec<(usize, &str)> {
    let lines = tree.file(ADVICE).into_iter().flat_map(|page| page.lines());
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    lines
        .flat_map(|(line, text)| text.split(word).filter(|name| is_metric(name)).map(move |name| (line, name)))
        .collect()
}

/// Tables share the library's prefix; the page of keys lists them.
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
    fn sources_and_page_say_the_same() {
        let source = "let a = counter!(\"evenkeel_cache_hits_total\", \"cache\" => name);\nlet b = gauge!(\"open\");\nconst C: &str = \"evenkeel_link_epoch\";\n";
        let page = "| name | kind |\n|---|---|\n| `evenkeel_link_epoch` | gauge |\n| `evenkeel_gone` | gauge |\n";
        let tree = Tree::of([
            ("crates/evenkeel/src/cache/metrics.rs", source),
            (PAGE, page),
            (ADVICE, "alert: `rate(evenkeel_nothing_total[5m]) > 0`\n"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| finding.what).collect();
        let expected = [
            "a metric without a known prefix: `let b = gauge!(\"\");`",
            "`evenkeel_cache_hits_total` has no row in docs/metrics.md",
            "there is no metric `evenkeel_nothing_total`",
            "no source mentions `evenkeel_gone`",
        ];
        assert_eq!(found, expected);
    }
}
