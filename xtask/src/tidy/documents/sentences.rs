//! docs/sentences.md names, for each guarantee in the documentation of a public item, the tests that check it.

use super::guarantees::Tests;
use super::{Finding, Rule, Tree, markdown};
use crate::tidy::tree::File;
use std::collections::BTreeSet;

const PAGE: &str = "docs/sentences.md";

/// The columns of a row: items, sentence, tests.
const TESTS: usize = 2;

pub(crate) const RULE: Rule = Rule {
    name: "sentences",
    requires: "each public item with a guarantee (or a stated limit of one) in its documentation, and each with errors in the crate `evenkeel`, \
               has a row in docs/sentences.md, whose tests exist",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let items: Vec<_> = tree.rust().filter(|file| file.in_library().is_some()).flat_map(items).collect();
    let known: BTreeSet<_> = items.iter().map(|item| item.name.as_str()).collect();
    let tests = Tests::of(tree);
    let mut listed = BTreeSet::new();
    let rows = tree.file(PAGE).map(|page| markdown::rows(&page.text)).unwrap_or_default();
    for (line, cells) in rows.into_iter().filter(|(_, cells)| !["item", "---"].contains(&cells[0])) {
        let mut find = |what: String| findings.push(Finding::new(PAGE, line, what));
        for name in markdown::code(cells[0]) {
            listed.insert(name);
            if !known.contains(name) {
                find(format!("`{name}` does not exist, or its documentation has neither a guarantee nor errors"));
            }
        }
        let cell = cells.get(TESTS).unwrap_or(&"");
        let named = markdown::code(cell);
        if named.is_empty() && !cell.starts_with("none: ") {
            find(format!("{} names no test", cells[0]));
        }
        for name in named.iter().filter(|name| !tests.has(name)) {
            find(format!("{}: there is no test `{name}`", cells[0]));
        }
    }
    let required = items.iter().filter(|item| item.guarantees || item.path.starts_with("crates/evenkeel/"));
    for item in required.filter(|item| !listed.contains(item.name.as_str())) {
        findings.push(Finding::new(&item.path, item.line, format!("`{}` has no row in {PAGE}", item.name)));
    }
    findings
}

/// A public item whose documentation has a guarantee or a section on errors.
struct Item {
    /// The capability, the type and the item, as in `cache::Cache::get`.
    name: String,
    path: String,
    line: usize,
    guarantees: bool,
}

fn items(file: &File) -> Vec<Item> {
    let inner = file.in_library().unwrap_or_default();
    let module = inner.split(['/', '.']).next().unwrap_or(&inner);
    let (mut items, mut owner, mut docs) = (Vec::new(), String::new(), String::new());
    let mut attribute = false;
    for (line, text) in file.lines() {
        let code = text.trim_start();
        if let Some(doc) = code.strip_prefix("///") {
            docs.push_str(doc);
            docs.push('\n');
            continue;
        }
        attribute |= code.starts_with("#[");
        if attribute || code.starts_with("//") {
            attribute &= !code.ends_with(']');
            continue;
        }
        // A top-level item contains the indented items that follow it.
        let name = name(code);
        if !text.starts_with(' ') && (text.starts_with("impl") || name.is_some()) {
            owner = name.clone().unwrap_or_else(|| implemented(text));
        }
        let docs = std::mem::take(&mut docs);
        let (guarantees, errors) = (is_guarantee(&docs), docs.contains("# Errors"));
        if let Some(name) = name.filter(|_| (guarantees || errors) && !code.starts_with("pub(")) {
            let name = if name == owner { format!("{module}::{name}") } else { format!("{module}::{owner}::{name}") };
            items.push(Item { name, path: file.path.clone(), line, guarantees });
        }
    }
    items
}

fn is_guarantee(docs: &str) -> bool {
    docs.contains("Guarantee") || docs.contains("Not guaranteed")
}

/// The name of the item that this line declares: a function, a type, or a variant.
fn name(code: &str) -> Option<String> {
    let keyword = ["fn ", "struct ", "enum ", "trait "].into_iter().find_map(|keyword| {
        let (before, after) = code.split_once(keyword)?;
        let declares =
            before.split_whitespace().all(|word| word.starts_with("pub") || ["async", "const"].contains(&word));
        declares.then_some(after)
    });
    let variant = || Some(code).filter(|code| code.starts_with(|c: char| c.is_ascii_uppercase()));
    let name: String = keyword.or_else(variant)?.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    Some(name).filter(|name| !name.is_empty())
}

/// The type of an `impl` line.
fn implemented(text: &str) -> String {
    let mut depth = 0;
    let header = text.trim_start_matches("impl");
    let end = header.char_indices().find(|(at, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>' && !header[..*at].ends_with('-'));
        depth == 0
    });
    let kind = end.map_or("", |(at, _)| header[at..].trim_start_matches('>').trim());
    let kind = kind.rsplit(" for ").next().unwrap_or(kind).trim_start_matches("dyn ");
    kind.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "/// Rows.\n///\n/// **Guarantee (C1).** None is lost.\n#[derive(Debug)]\npub struct Cache<K>(K);\n\n\
        impl<K: Into<Vec<u8>>> Cache<K> {\n    /// Reads.\n    ///\n    /// # Errors\n    /// None.\n    pub async fn get() {}\n}\n";

    fn found(rows: &[&str]) -> Vec<String> {
        let test = "fn nothing_is_lost() {}\n";
        let page = rows.concat();
        let source = "crates/evenkeel/src/cache/cache.rs";
        let tree = Tree::of([(source, SOURCE), (PAGE, &page), ("crates/evenkeel/tests/it/cache.rs", test)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn guarantee_needs_row_and_existing_tests() {
        let row = "| `cache::Cache` | none is lost | `cache::nothing_is_lost` |\n";
        let errors = "| `cache::Cache::get` | errors | none: it has none |\n";
        assert_eq!(found(&["| item | sentence | tests |\n|---|---|---|\n", row, errors]), Vec::<String>::new());
        let missing =
            ["`cache::Cache` has no row in docs/sentences.md", "`cache::Cache::get` has no row in docs/sentences.md"];
        assert_eq!(found(&[]), missing);
        let unknown = "`cache::Cache::put` does not exist, or its documentation has neither a guarantee nor errors";
        assert_eq!(found(&[row, errors, "| `cache::Cache::put` | it | `nothing_is_lost` |\n"]), [unknown]);
        assert_eq!(found(&[row, errors, "| spec | it | `gone` |\n"]), ["spec: there is no test `gone`"]);
        assert_eq!(found(&[row, errors, "| spec | it | soon |\n"]), ["spec names no test"]);
    }
}
