//! What each test says that it shows, in a comment above it: `// shows: C1, hazard H3, cache::Cache::get, spec/cache.md`.
//!
//! The columns of tests in docs/guarantees.md and docs/hazards.md are made from it: `cargo xtask tidy --write`.

use super::{Finding, Rule, Tree, guarantees, hazards, items, markdown};
use crate::tidy::tree::File;
use std::collections::{BTreeMap, BTreeSet};

const MARK: &str = "// shows: ";
pub(super) const REMEDY: &str = "`cargo xtask tidy --write` makes the column";

/// Items with a guarantee, a limit or an error that no test shows, and why.
const UNSHOWN: &[(&str, &str)] = &[
    ("cdc::decode_file", "it exists for tests only"),
    ("id::Snowflake::extend_once", "it exists for tests only"),
    ("lock::Guards", "what several guards promise is shown for the locks"),
    ("process::Keel::report_once", "it exists for tests only"),
    ("process::Keel::sweep_libraries", "it exists for tests only"),
    ("queue::Why", "the store does not know what is not promised"),
    ("sql::Effects::append", "what Redis loses is a matter of its persistence"),
    ("sql::NatsSink::connect", "the client's own parser decides"),
    ("sql::PoolTransaction", "only the unit of work and the locking transaction notice what is not promised"),
];

pub(crate) const RULE: Rule = Rule {
    name: "shows",
    requires: "a test names promises, hazards, public items with a guarantee, or pages of docs/spec, and each public item with a guarantee \
               (or a stated limit of one) in its documentation, or with errors in the crate `evenkeel`, is shown by a test",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let shown = Shown::of(tree);
    let items = items::of(tree);
    let promises = guarantees::stated(tree);
    let hazards = hazards::ids(tree);
    let mut known: BTreeSet<&str> = items.iter().map(|item| item.name.as_str()).collect();
    known.extend(promises.keys().map(String::as_str));
    known.extend(hazards.iter().map(String::as_str));
    let is_page = |name: &str| name.starts_with("spec/") && tree.file(&format!("docs/{name}")).is_some();
    let mut findings: Vec<_> = shown
        .marks
        .iter()
        .filter(|mark| !known.contains(mark.name) && !is_page(mark.name))
        .map(|mark| {
            let what = format!("`{}` is no promise, hazard, documented item or page of docs/spec", mark.name);
            Finding::new(mark.path, mark.line, what)
        })
        .collect();
    findings.extend(shown.stray.iter().map(|(path, line)| Finding::new(path, *line, "no test follows")));
    let required = items.iter().filter(|item| item.guarantees || item.path.starts_with("crates/evenkeel/"));
    let is_excepted = |name: &str| UNSHOWN.iter().any(|(item, _)| *item == name);
    for item in required.filter(|item| !shown.tests.contains_key(item.name.as_str()) && !is_excepted(&item.name)) {
        findings.push(Finding::new(&item.path, item.line, format!("no test shows `{}`", item.name)));
    }
    findings
}

/// One name in a comment of a test.
struct Mark<'a> {
    name: &'a str,
    path: &'a str,
    line: usize,
}

/// What the tests show.
pub(super) struct Shown<'a> {
    marks: Vec<Mark<'a>>,
    /// Comments that no test follows.
    stray: Vec<(&'a str, usize)>,
    /// The tests of each name, as `file::test`, in the order of the files.
    tests: BTreeMap<&'a str, Vec<String>>,
}

impl<'a> Shown<'a> {
    pub(super) fn of(tree: &'a Tree) -> Self {
        let mut shown = Self { marks: Vec::new(), stray: Vec::new(), tests: BTreeMap::new() };
        tree.rust().for_each(|file| shown.read(file));
        shown
    }

    fn read(&mut self, file: &'a File) {
        let mut pending: Vec<Mark<'a>> = Vec::new();
        for (line, text) in file.lines() {
            let code = text.trim_start();
            if let Some(names) = code.strip_prefix(MARK) {
                pending.extend(names.split(", ").map(|name| Mark { name: name.trim(), path: &file.path, line }));
            } else if let Some(test) = function(code).filter(|_| !code.starts_with("//")) {
                let test = format!("{}::{test}", module(&file.path));
                for mark in pending.drain(..) {
                    let tests = self.tests.entry(mark.name).or_default();
                    if !tests.contains(&test) {
                        tests.push(test.clone());
                    }
                    self.marks.push(mark);
                }
            } else if code.is_empty() {
                self.stray.extend(pending.drain(..).map(|mark| (mark.path, mark.line)));
            }
        }
        self.stray.extend(pending.into_iter().map(|mark| (mark.path, mark.line)));
    }

    /// Whether this cell is what the tests have for the promise or hazard of this name.
    pub(super) fn agrees(&self, name: &str, cell: &str) -> bool {
        self.cell(name).unwrap_or_default() == if markdown::code(cell).is_empty() { "" } else { cell }
    }

    /// The cell of a table for the promise or hazard of this name; `None` if no test shows it.
    pub(super) fn cell(&self, name: &str) -> Option<String> {
        let tests = self.tests.get(name)?;
        Some(tests.iter().map(|test| format!("`{test}`")).collect::<Vec<_>>().join(", "))
    }
}

/// A table whose column of tests is made from the tests.
pub(super) struct Made {
    pub(super) page: &'static str,
    pub(super) column: usize,
    /// The promise or hazard of a row as tests name it, from its first cell.
    pub(super) name: fn(&str) -> Option<String>,
}

impl Made {
    /// The page as the tests have it.
    pub(super) fn text(&self, tree: &Tree) -> Option<String> {
        let (page, shown) = (tree.file(self.page)?, Shown::of(tree));
        let lines = page.text.lines().map(|line| self.line(line, &shown).unwrap_or_else(|| line.to_owned()));
        Some(lines.map(|line| line + "\n").collect())
    }

    fn line(&self, line: &str, shown: &Shown<'_>) -> Option<String> {
        let inner = line.strip_prefix('|')?.strip_suffix('|')?;
        let mut cells: Vec<String> = inner.split('|').map(str::to_owned).collect();
        let made = shown.cell(&(self.name)(cells.first()?.trim())?)?;
        *cells.get_mut(self.column)? = format!(" {made} ");
        Some(format!("|{}|", cells.join("|")))
    }
}

/// The name of the function that this line declares.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_declaration = before.is_empty() || before.ends_with(' ');
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&after[..end]).filter(|name| is_declaration && !name.is_empty())
}

/// The module of a file: its name, or its folder's.
fn module(path: &str) -> &str {
    let inner = path.strip_suffix(".rs").unwrap_or(path);
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    inner.rsplit('/').next().unwrap_or(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "/// Rows.\n///\n/// **Guarantee (C1).** None is lost.\n#[derive(Debug)]\npub struct Cache<K>(K);\n";

    fn found(test: &str) -> Vec<String> {
        let tree = Tree::of([
            ("crates/evenkeel/src/cache/cache.rs", SOURCE),
            ("docs/spec/cache.md", "**C1** None is lost.\n"),
            (hazards::MADE.page, "| H1 | bug | rule | `rows::none_is_lost` | |\n"),
            ("crates/evenkeel/tests/it/rows.rs", test),
        ]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn names_are_known_and_items_are_shown() {
        let test = |names: &str| format!("// shows: {names}\n#[test]\nfn none_is_lost() {{}}\n");
        assert_eq!(found(&test("C1, hazard H1, cache::Cache, spec/cache.md")), Vec::<String>::new());
        assert_eq!(found(&test("C1")), ["no test shows `cache::Cache`"]);
        let unknown = "`C9` is no promise, hazard, documented item or page of docs/spec";
        assert_eq!(found(&test("cache::Cache, C9")), [unknown]);
        let stray = format!("// shows: hazard H1\n\n{}", test("cache::Cache"));
        assert_eq!(found(&stray), ["no test follows"]);
    }

    #[test]
    fn column_is_made_from_the_tests() {
        let tree = Tree::of([
            (hazards::MADE.page, "Text.\n\n| H1 | bug | rule | soon | `g` |\n| H2 | bug | rule | see H1 | |\n"),
            (
                "crates/a/tests/it/rows/mod.rs",
                "// shows: hazard H1\nfn b() {}\n// shows: hazard H1, H1\nasync fn a() {}\n",
            ),
        ]);
        let made = "Text.\n\n| H1 | bug | rule | `rows::b`, `rows::a` | `g` |\n| H2 | bug | rule | see H1 | |\n";
        assert_eq!(hazards::MADE.text(&tree).as_deref(), Some(made));
    }
}
