//! The public items whose documentation guarantees something, or has a section on errors.

use super::Tree;
use crate::tidy::tree::File;

/// A public item whose documentation has a guarantee or a section on errors.
pub(super) struct Item {
    /// The capability, the type and the item, as in `cache::Cache::get`.
    pub(super) name: String,
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) guarantees: bool,
}

/// All such items of the library.
pub(super) fn of(tree: &Tree) -> Vec<Item> {
    tree.rust().filter(|file| file.in_library().is_some()).flat_map(items).collect()
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

    #[test]
    fn guarantees_and_errors_make_an_item() {
        let source = "/// Rows.\n///\n/// **Guarantee (C1).** None is lost.\n#[derive(Debug)]\npub struct Cache<K>(K);\n\n\
            impl<K: Into<Vec<u8>>> Cache<K> {\n    /// Reads.\n    ///\n    /// # Errors\n    /// None.\n    pub async fn get() {}\n\
            \n    /// Counts.\n    pub fn len() {}\n}\n";
        let tree = Tree::of([("crates/evenkeel/src/cache/cache.rs", source)]);
        let found: Vec<_> = of(&tree).into_iter().map(|item| (item.name, item.line, item.guarantees)).collect();
        assert_eq!(found, [("cache::Cache".to_owned(), 5, true), ("cache::Cache::get".to_owned(), 12, false)]);
    }
}
