//! Every Rust file begins with its documentation.

use super::{Finding, Rule, Tree};

pub(crate) const RULE: Rule = Rule { name: "headers", requires: "a Rust file begins with a `//!` comment", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let undocumented = tree.rust().filter(|file| !file.text.starts_with("//! "));
    undocumented.map(|file| Finding::new(&file.path, 1, "the first line is not a `//!` comment")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_leading_comment_is_found() {
        let tree = Tree::of([("a.rs", "//! What it is.\n"), ("b.rs", "fn b() {}\n"), ("c.md", "text")]);
        assert_eq!(check(&tree), [Finding::new("b.rs", 1, "the first line is not a `//!` comment")]);
    }
}
