//! CHANGELOG.md mentions every feature of the library and every application.

use super::{Finding, Rule, Tree};
use toml::{Table, Value};

const PAGE: &str = "CHANGELOG.md";
const LIBRARY: &str = "crates/evenkeel/Cargo.toml";
/// Features that are not capabilities.
const PLUMBING: &[&str] = &["default", "testing"];

pub(crate) const RULE: Rule = Rule {
    name: "changelog",
    requires: "CHANGELOG.md mentions, in backticks, every feature of the library and every application",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.file(PAGE).map_or("", |page| page.text.as_str());
    let manifest: Table = tree.file(LIBRARY).and_then(|file| file.text.parse().ok()).unwrap_or_default();
    let features =
        manifest.get("features").and_then(Value::as_table).into_iter().flatten().map(|(name, _)| name.as_str());
    let applications =
        tree.files().iter().filter_map(|file| file.path.strip_prefix("apps/")?.strip_suffix("/Cargo.toml"));
    let names = features.filter(|name| !PLUMBING.contains(name)).chain(applications);
    let missing = names.filter(|name| !text.contains(&format!("`{name}`")));
    missing.map(|name| Finding::new(PAGE, 0, format!("`{name}` is not mentioned"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmentioned_feature_is_found() {
        let tree = Tree::of([
            (LIBRARY, "[features]\ncache = []\nqueue = []\ntesting = []\n"),
            ("apps/shortlink/Cargo.toml", ""),
            (PAGE, "- `cache`: fenced.\n"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| finding.what).collect();
        assert_eq!(found, ["`queue` is not mentioned", "`shortlink` is not mentioned"]);
    }
}
