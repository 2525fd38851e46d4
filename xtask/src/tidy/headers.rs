//! Every Rust file says first what it is.

use super::{Finding, Rule, Tree};

pub(crate) const RULE: Rule =
    Rule { name: "headers", wants: "every Rust file begins with a `//!` comment that says what it is", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let silent = tree.rust().filter(|(file, _)| !file.text.starts_with("//! "));
    silent.map(|(file, _)| Finding::new(&file.path, 1, "the first line is no `//!` comment")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_first_comment_is_found() {
        let tree = Tree::of([("a.rs", "//! What it is.\n"), ("b.rs", "fn b() {}\n"), ("c.md", "text")]);
        assert_eq!(check(&tree), [Finding::new("b.rs", 1, "the first line is no `//!` comment")]);
    }
}
