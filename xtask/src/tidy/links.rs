//! Relative links in documents have a target.

use super::{Finding, Rule, Tree, markdown};

pub(crate) const RULE: Rule =
    Rule { name: "links", requires: "the target of a relative link in a document exists", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.path.ends_with(".md")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, text) in file.lines() {
            let relative =
                markdown::links(text).into_iter().filter(|target| !target.contains("://") && !target.starts_with('#'));
            for target in relative.filter(|target| !tree.has(&resolved(folder, target))) {
                findings.push(Finding::new(&file.path, line, format!("`{target}` does not exist")));
            }
        }
    }
    findings
}

/// The target from the root, without the part after `#`.
fn resolved(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('#').next().unwrap_or(target).split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_link_is_found() {
        let page = "[a](b.md#part) [c](../README.md) [d](https://e) [f](#part) [g](spec/) [h](gone.md)\n";
        let tree =
            Tree::of([("docs/a.md", page), ("docs/b.md", "b\n"), ("README.md", "r\n"), ("docs/spec/c.md", "c\n")]);
        assert_eq!(check(&tree), [Finding::new("docs/a.md", 1, "`gone.md` does not exist")]);
    }
}
