//! `cargo xtask check`: the checks that need no server, those that fail fastest first.

use crate::shell::{self, Steps, cargo};
use anyhow::Result;

/// The tests that need no server: unit tests in `src/`, and modules named `hermetic` under `tests/`.
pub(crate) const HERMETIC: &str = "kind(lib) | kind(bin) | test(/(^|::)hermetic::/)";

/// The folder of the clippy configuration that bans clocks in the library.
const LIBRARY_LINTS: &str = ".config/library";

/// The feature sets for which the documentation is built: no link may need a feature that the user has not enabled. The steps before have
/// built the dependencies of each.
const DOCUMENTED: [&str; 15] = [
    "",
    "cache",
    "queue",
    "stream",
    "lock",
    "redlock",
    "spool",
    "tower",
    "nats",
    "otel",
    "sqlite",
    "stream,sqlite",
    "mysql,lock",
    "postgres,cache",
    "cache,queue,lock,sqlite,spool,tls",
];

/// The crates that the registry gets.
pub(crate) const PUBLISHED: [&str; 4] = ["evenkeel-link", "evenkeel-protocol", "evenkeel", "evenkeel-published"];

pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::new("check");
    steps.step("format", || shell::run(&mut cargo(&["fmt", "--all", "--check"])))?;
    steps.step("tidy", crate::tidy::run)?;
    steps.step("clippy", || {
        shell::run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
        // The library as its users build it: without the feature `testing`, and with none, each and all of the others.
        let capabilities = capabilities()?;
        let alone = capabilities.iter().map(String::as_str);
        for features in [""].into_iter().chain(alone).chain([capabilities.join(",").as_str()]) {
            lint_library(&["--package", "evenkeel", "--features", features])?;
        }
        lint_library(&["--package", "evenkeel-published"])
    })?;
    steps.step("documentation", || {
        for features in DOCUMENTED {
            document(&["--package", "evenkeel", "--features", features])?;
        }
        // With all features.
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
    Ok(features.map(|(name, _)| name.clone()).filter(|name| name != "testing").collect())
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
