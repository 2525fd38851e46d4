//! Files and functions stay small enough to be read in one go. There is no list of exceptions: split, or change the caps for all.

use super::{Finding, Rule, Tree};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

pub(crate) const RULE: Rule =
    Rule { name: "sizes", wants: "a Rust file has at most 600 lines, a function at most 70", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            findings.push(Finding::new(&file.path, FILE_LINES_MAX, format!("the file has {lines} lines")));
        }
        for function in source.functions() {
            let lines = function.lines.clone().count();
            if lines > FUNCTION_LINES_MAX {
                let what = format!("the function `{}` has {lines} lines", function.name);
                findings.push(Finding::new(&file.path, *function.lines.start(), what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_too_many_is_found() {
        let body = |lines: usize| format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2));
        let tree = Tree::of([("fits.rs", body(70)), ("long.rs", body(71)), ("file.rs", "//! Text.\n".repeat(601))]);
        let expected = [
            Finding::new("long.rs", 1, "the function `long` has 71 lines"),
            Finding::new("file.rs", 600, "the file has 601 lines"),
        ];
        assert_eq!(check(&tree), expected);
    }
}
