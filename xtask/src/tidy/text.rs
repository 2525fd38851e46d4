//! No text contains leftover notes, paths of one machine, or stray whitespace.

use super::{Finding, Rule, Tree};
use crate::tidy::tree::File;

pub(crate) const RULE: Rule = Rule {
    name: "text",
    requires: "no leftover notes or debugging, no paths of one machine, no tabs, no trailing whitespace, no example whose database in \
               memory ends with an idle connection",
    check,
};

/// Split in two, so that this file does not violate its own rule.
const BANNED: &[(&str, &str)] = &[
    (concat!("TO", "DO"), "open an issue instead"),
    (concat!("FIX", "ME"), "fix it, or open an issue"),
    (concat!("XX", "X:"), "say what it is"),
    (concat!("dbg", "!("), "left over from debugging"),
    (concat!("<<<<", "<<< "), "an unresolved merge"),
    (concat!(">>>>", ">>> "), "an unresolved merge"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/Use", "rs/"), "a path of one machine"),
    (concat!("/wo", "rk/"), "a path of one machine"),
];

/// A database in memory, and the settings of the pool without which it is gone after ten idle minutes, or half an hour. Split, as above.
const IN_MEMORY: &str = concat!("sqlite::", "memory:");
const KEPT: [&str; 2] = ["idle_timeout(None)", "max_lifetime(None)"];

fn check(tree: &Tree) -> Vec<Finding> {
    tree.files().iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in file.lines() {
        let mut find = |what: String| findings.push(Finding::new(&file.path, line, what));
        for (banned, reason) in BANNED.iter().filter(|(banned, _)| text.contains(banned)) {
            find(format!("`{banned}`: {reason}"));
        }
        if text.contains('\t') {
            find("a tab".to_owned());
        }
        if text.ends_with(' ') || text.ends_with('\r') {
            find("trailing whitespace".to_owned());
        }
    }
    if !file.is_test() && file.text.contains(IN_MEMORY) && !KEPT.iter().all(|setting| file.text.contains(setting)) {
        findings.push(Finding::new(&file.path, 0, format!("`{IN_MEMORY}` without {}", KEPT.join(" and "))));
    }
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        findings.push(Finding::new(
            &file.path,
            file.text.lines().count(),
            "the file does not end in exactly one line break",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found() {
        let note = concat!("// TO", "DO later\n");
        let place = concat!("see /ho", "me/someone/file\n");
        let tree = Tree::of([
            ("a.rs", note),
            ("b.md", place),
            ("c.toml", "a = 1 \n"),
            ("d.lua", "\treturn 1\n"),
            ("e.md", "e"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(found, ["a.rs", "b.md", "c.toml", "d.lua", "e.md"].map(|path| (path.to_owned(), 1)));
    }

    /// The README's service lost its tables while nobody used it for ten minutes.
    // shows: hazard BW10
    #[test]
    fn database_in_memory_keeps_its_connection() {
        let open = format!("open(\"{IN_MEMORY}\")\n");
        let found = check(&Tree::of([("a.rs", &open), ("crates/a/tests/b.rs", &open)]));
        assert_eq!(found.iter().map(|finding| finding.path.as_str()).collect::<Vec<_>>(), ["a.rs"]);
        assert_eq!(check(&Tree::of([("a.rs", &format!("{}\n{open}", KEPT.join("\n")))])), []);
    }

    #[test]
    fn clean_text_passes() {
        assert_eq!(check(&Tree::of([("a.rs", "//! Words.\n\nfn f() {}\n")])), []);
    }
}
