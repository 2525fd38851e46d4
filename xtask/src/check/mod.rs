//! `cargo xtask check`: the checks that need no server, those that fail fastest first.

mod features;

use crate::shell::{self, cargo};
use crate::steps::Steps;
use anyhow::Result;

/// The tests that need no server: unit tests in `src/`, and modules named `hermetic` under `tests/`.
pub(crate) const HERMETIC: &str = "kind(lib) | kind(bin) | test(/(^|::)hermetic::/)";

/// The steps.
const PLAN: &[&str] =
    &["format", "tidy", "clippy", "documentation", "packages", "licenses and advisories", "tests without servers"];

/// The folder of the clippy configuration that bans clocks in the library.
const LIBRARY_LINTS: &str = ".config/library";

/// The crates that the registry gets.
pub(crate) const PUBLISHED: [&str; 4] = ["evenkeel-link", "evenkeel-protocol", "evenkeel", "evenkeel-published"];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Every feature set of the library (default: none, all, and three others chosen by the commit)
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let sets = features::sets(arguments.all)?;
    let mut steps = Steps::new("check", PLAN);
    steps.step("format", || shell::run(&mut cargo(&["fmt", "--all", "--check"])))?;
    steps.step("tidy", || crate::tidy::run(&crate::tidy::Arguments::default()))?;
    steps.step("clippy", || {
        shell::run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
        // The library as its users build it: without the feature `testing`.
        for features in &sets {
            lint_library(&["--package", "evenkeel", "--no-default-features", "--features", features])?;
        }
        lint_library(&["--package", "evenkeel-published"])
    })?;
    steps.step("documentation", || {
        // The set of all features is documented with the list of public items.
        let all = capabilities()?.join(",");
        for features in sets.iter().filter(|set| **set != all) {
            document(&["--package", "evenkeel", "--no-default-features", "--features", features])?;
        }
        crate::api::check()?;
        // Last, because its output stays in `target/doc`.
        document(&["--workspace"])
    })?;
    steps.step("packages", || {
        // As the registry would receive them. Their code is compiled above; `--offline`, because everything needed is there by now.
        let words = ["package", "--quiet", "--offline", "--no-verify", "--allow-dirty"];
        shell::run(cargo(&words).args(PUBLISHED.iter().flat_map(|name| ["--package", name])))
    })?;
    steps.step("licenses and advisories", deny)?;
    steps.step("tests without servers", || {
        shell::run(&mut cargo(&["nextest", "run", "--workspace", "--filterset", HERMETIC]))
    })?;
    steps.finish();
    Ok(())
}

/// Clippy with the rules for the library's own code.
fn lint_library(words: &[&str]) -> Result<()> {
    let mut clippy = cargo(&["clippy", "--lib"]);
    clippy.args(words).args(["--", "-D", "warnings"]);
    shell::run(clippy.env("CLIPPY_CONF_DIR", shell::root().join(LIBRARY_LINTS)))
}

fn document(words: &[&str]) -> Result<()> {
    shell::run(cargo(&["doc", "--no-deps"]).args(words).env("RUSTDOCFLAGS", "-D warnings"))
}

/// The features for users of the library.
pub(crate) fn capabilities() -> Result<Vec<String>> {
    let manifest = std::fs::read_to_string(shell::root().join("crates/evenkeel/Cargo.toml"))?.parse::<toml::Table>()?;
    let features = manifest.get("features").and_then(toml::Value::as_table).into_iter().flatten();
    Ok(features.map(|(name, _)| name.clone()).filter(|name| name != "testing" && name != "default").collect())
}

/// Skips the check, with a message, if cargo-deny or the advisory database is missing.
fn deny() -> Result<()> {
    if shell::find("cargo-deny").is_none() {
        println!("NOT CHECKED: licenses and advisories (install the checker with `cargo install --locked cargo-deny`)");
        return Ok(());
    }
    let fetched = cargo(&["deny", "fetch", "db"]).output().is_ok_and(|output| output.status.success());
    if fetched {
        return shell::run(&mut cargo(&["deny", "check"]));
    }
    println!("NOT CHECKED: advisories (the database is unreachable)");
    shell::run(&mut cargo(&["deny", "check", "bans", "licenses", "sources"]))
}
