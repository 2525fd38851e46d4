//! The mutant table and the sources name the same guards.

use std::collections::BTreeSet;
use std::path::Path;
use testkit::mutants::all;

/// Guards that `text` names: calls in Rust (comments talk about guards too), line ends in Lua.
fn guards(path: &Path, text: &str) -> Vec<String> {
    let (mark, end) = if path.extension().is_some_and(|extension| extension == "lua") {
        ("-- guard: ", '\n')
    } else {
        ("guard(\"", '"')
    };
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split(mark).skip(1))
        .map(|rest| rest.split(end).next().unwrap().trim().to_owned())
        .collect()
}

fn guards_below(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.extension().and_then(|extension| extension.to_str()) {
            _ if path.is_dir() => guards_below(&path),
            Some("rs" | "lua") => guards(&path, &std::fs::read_to_string(&path).unwrap()).into_iter().collect(),
            _ => BTreeSet::new(),
        })
        .collect()
}

#[test]
fn every_guard_has_a_row_and_every_row_a_guard() {
    let rows: BTreeSet<String> = all().iter().map(|mutant| mutant.name.to_owned()).collect();
    let pairs: BTreeSet<_> = all().iter().map(|mutant| (mutant.name, mutant.test)).collect();
    assert_eq!(pairs.len(), all().len(), "two rows of the mutant table name the same guard and test");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["crates/link", "crates/protocol", "crates/published", "crates/evenkeel", "crates/server"];
    let guards = folders
        .iter()
        .chain(&["apps/shortlink", "apps/stockroom"])
        .flat_map(|folder| guards_below(&root.join(folder).join("src")))
        .collect::<BTreeSet<_>>();
    let without_row: Vec<_> = guards.difference(&rows).collect();
    let without_guard: Vec<_> = rows.difference(&guards).collect();
    assert!(without_row.is_empty(), "guards without a row in crates/testkit/src/mutants.rs: {without_row:?}");
    assert!(
        without_guard.is_empty(),
        "rows of crates/testkit/src/mutants.rs without a guard in the sources: {without_guard:?}"
    );
}

#[test]
fn guards_are_found_in_code_and_scripts_only() {
    let rust = "// `guard(\"told\")`\nif guard(\"first\") && !guard(\"second\") {}";
    assert_eq!(guards(Path::new("a.rs"), rust), ["first", "second"]);
    let script = "if a ~= b then return 0 end -- guard: third\nreturn 1";
    assert_eq!(guards(Path::new("a-1.lua"), script), ["third"]);
}

/// The task runner reads the table from the program.
#[test]
fn program_prints_the_mutant_table() {
    let printed = std::process::Command::new(env!("CARGO_BIN_EXE_evenkeel-testkit")).arg("mutants").output().unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&printed.stdout).unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, all().iter().map(|mutant| mutant.name).collect::<Vec<_>>());
}
