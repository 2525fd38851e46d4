//! Files stay small enough to read in one go. (Clippy's `too_many_lines` limits functions.)

use super::{Finding, Rule, Tree};

const FILE_LINES_MAX: usize = 600;

pub(crate) const RULE: Rule = Rule { name: "sizes", requires: "a Rust file has at most 600 lines", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let sizes = tree.rust().map(|file| (file, file.lines().count())).filter(|(_, lines)| *lines > FILE_LINES_MAX);
    sizes.map(|(file, lines)| Finding::new(&file.path, FILE_LINES_MAX, format!("the file has {lines} lines"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_with_one_line_too_many_is_found() {
        let tree = Tree::of([("fits.rs", "//! Text.\n".repeat(600)), ("long.rs", "//! Text.\n".repeat(601))]);
        assert_eq!(check(&tree), [Finding::new("long.rs", 600, "the file has 601 lines")]);
    }
}
