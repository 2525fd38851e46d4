//! The library is compiled once, and not in each program for each database: only what programs call with the type of their database has it
//! as a parameter.

use super::{Finding, Rule, Tree};

/// The items of the library that are generic over the database. The number only falls.
const ITEMS_MAX: usize = 42;
const SOURCES: &str = "crates/evenkeel/src/";
const BOUNDS: &[&str] = &["DB: Database", "DB: AdvisoryDatabase", "DB: crate::sql::Database"];

pub(crate) const RULE: Rule = Rule {
    name: "generics",
    requires: "the library has as many items that are generic over the database as xtask/src/tidy/generics.rs says",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let lines = tree.rust().filter(|file| file.path.starts_with(SOURCES)).flat_map(|file| file.code());
    let items = lines.filter(|(_, line)| BOUNDS.iter().any(|bound| line.contains(bound))).count();
    if items == ITEMS_MAX {
        return Vec::new();
    }
    let what = if items > ITEMS_MAX {
        format!(
            "{items} items are generic over the database, the limit is {ITEMS_MAX}: take a `Pool` or a `Connection` of sql/database"
        )
    } else {
        format!(
            "{items} items are generic over the database: lower the limit of {ITEMS_MAX} in xtask/src/tidy/generics.rs"
        )
    };
    vec![Finding::new(SOURCES, 0, what)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_generic_item_is_found() {
        let items =
            |count: usize| Tree::of([("crates/evenkeel/src/sql/a.rs", "fn f<DB: Database>() {}\n".repeat(count))]);
        assert_eq!(check(&items(ITEMS_MAX)), []);
        for count in [ITEMS_MAX - 1, ITEMS_MAX + 1] {
            assert_eq!(check(&items(count)).len(), 1, "{count}");
        }
        let elsewhere = Tree::of([("apps/a/src/a.rs", "fn f<DB: Database>() {}\n".to_owned())]);
        assert_eq!(check(&elsewhere).len(), 1, "only the library counts");
    }
}
