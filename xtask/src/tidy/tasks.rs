//! The library spawns tasks with boxed futures, because tokio compiles a task once for each type of future, in each program.

use super::{Finding, Rule, Tree};

const HELPER: &str = "crates/link/src/support/task.rs";

pub(crate) const RULE: Rule =
    Rule { name: "tasks", requires: "the library spawns with `support::spawn`, which boxes the future", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let library = tree.rust().filter(|file| file.in_library().is_some() && !file.is_test() && file.path != HELPER);
    library
        .flat_map(|file| {
            file.code()
                .filter(|(_, text)| text.contains("tokio::spawn("))
                .map(|(line, _)| Finding::new(&file.path, line, "`tokio::spawn`: use `evenkeel_link::support::spawn`"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_spawn_is_found_in_the_library_only() {
        let spawns = "//! Text.\nfn f() { tokio::spawn(g()); }\n";
        let tree = Tree::of([("crates/evenkeel/src/a.rs", spawns), ("apps/shortlink/src/b.rs", spawns)]);
        let found: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["crates/evenkeel/src/a.rs"]);
    }
}
