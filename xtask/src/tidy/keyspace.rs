//! docs/keyspace.md lists every script, and no other.

use super::{Finding, Rule, Tree, markdown};

const PAGE: &str = "docs/keyspace.md";

pub(crate) const RULE: Rule =
    Rule { name: "keyspace", requires: "docs/keyspace.md lists every script with its keys, and no other", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let scripts: Vec<_> = tree.files().iter().filter(|file| file.is_script()).collect();
    let Some(page) = tree.file(PAGE) else { return vec![Finding::new(PAGE, 0, "the page is missing")] };
    let mut findings = Vec::new();
    for script in scripts.iter().filter(|script| !page.text.contains(&format!("`{}`", script.name()))) {
        findings.push(Finding::new(&script.path, 0, format!("{PAGE} does not list `{}`", script.name())));
    }
    for (line, text) in page.lines() {
        let named = markdown::code(text).into_iter().filter(|name| name.ends_with(".lua"));
        for name in named.filter(|name| !scripts.iter().any(|script| script.path.ends_with(name))) {
            findings.push(Finding::new(PAGE, line, format!("there is no script `{name}`")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_rows_without_each_other_are_found() {
        let tree = Tree::of([
            ("crates/protocol/src/cache/scripts/fill-1.lua", ""),
            ("crates/protocol/src/cache/scripts/lease-1.lua", ""),
            (PAGE, "| `ns:c` | `fill-1.lua`, `gone-1.lua` |\n"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| finding.what).collect();
        assert_eq!(found, ["docs/keyspace.md does not list `lease-1.lua`", "there is no script `gone-1.lua`"]);
    }
}
