//! `cargo xtask check`: what can be judged without a server, in the order of what fails soonest.

use crate::shell::{self, Steps, cargo};
use anyhow::Result;

/// Tests that need no server, by place: those inside `src/` (unit tests), and modules named `hermetic` under `tests/`.
/// A test that needs a server therefore lives in `tests/`, outside a module of that name.
pub(crate) const HERMETIC: &str = "kind(lib) | kind(bin) | test(/(^|::)hermetic::/)";

/// What a user's `cargo doc` has of the library, by the features that user chose: no link may need another one. Few sets, each one that
/// clippy has built the dependencies of.
const DOCUMENTED: [&str; 8] =
    ["", "cache", "queue", "lock", "spool", "mysql,lock", "postgres,lock", "cache,queue,lock,sqlite,spool,tls"];

/// Runs the whole gate and sums it up.
pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::new("check");
    steps.step("format", || shell::run(&mut cargo(&["fmt", "--all", "--check"])))?;
    steps.step("tidy", crate::tidy::run)?;
    steps.step("clippy", || {
        shell::run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
        // The library as its users build it: without what only tests switch on, with none, one and all of its capabilities.
        let capabilities = capabilities()?;
        let alone = capabilities.iter().map(String::as_str);
        for features in [""].into_iter().chain(alone).chain([capabilities.join(",").as_str()]) {
            let words = ["clippy", "--package", "evenkeel", "--lib", "--features", features, "--", "-D", "warnings"];
            shell::run(&mut cargo(&words))?;
        }
        Ok(())
    })?;
    steps.step("documentation", || {
        for features in DOCUMENTED {
            document(&["--package", "evenkeel", "--features", features])?;
        }
        // Last, for it is what stays.
        document(&["--workspace"])
    })?;
    steps.step("licences and advisories", deny)?;
    steps.step("tests without servers", || {
        shell::run(&mut cargo(&["nextest", "run", "--workspace", "--filterset", HERMETIC]))
    })?;
    steps.finish();
    Ok(())
}

fn document(words: &[&str]) -> Result<()> {
    shell::run(cargo(&["doc", "--no-deps"]).args(words).env("RUSTDOCFLAGS", "-D warnings"))
}

/// The features a user of the library switches on.
fn capabilities() -> Result<Vec<String>> {
    let manifest = std::fs::read_to_string(shell::root().join("crates/evenkeel/Cargo.toml"))?.parse::<toml::Table>()?;
    let features = manifest.get("features").and_then(toml::Value::as_table).into_iter().flatten();
    Ok(features.map(|(name, _)| name.clone()).filter(|name| name != "testing").collect())
}

/// cargo-deny is an extra: a machine without it, or without the advisory database, says so and goes on.
fn deny() -> Result<()> {
    if shell::find("cargo-deny").is_none() {
        println!(
            "NOT CHECKED: licences and advisories (`cargo install --locked cargo-deny` brings the program that does)"
        );
        return Ok(());
    }
    let fetched = cargo(&["deny", "fetch", "db"]).output().is_ok_and(|output| output.status.success());
    if fetched {
        return shell::run(&mut cargo(&["deny", "check"]));
    }
    println!("NOT CHECKED: advisories (their database cannot be reached from here)");
    shell::run(&mut cargo(&["deny", "check", "bans", "licenses", "sources"]))
}
