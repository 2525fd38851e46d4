//! `cargo xtask setup`: finds what the tests need and this machine lacks, says what it would run, asks, runs it.

mod apt;
mod matrix;
mod needs;

use crate::shell;
use anyhow::{Result, bail};
use needs::{NEEDS, Need};
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

pub(crate) use matrix::folder as matrix_folder;

/// What `setup` was asked for.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Also unpack newer Redis, Valkey and MySQL, for `test --matrix`
    #[arg(long)]
    matrix: bool,
    /// Where `--matrix` unpacks (default: target/matrix)
    #[arg(long, value_name = "DIR", env = "EVENKEEL_MATRIX")]
    matrix_dir: Option<PathBuf>,
}

/// Fails with the line that installs what is missing; a test run does not skip what it cannot start.
pub(crate) fn expect_all(matrix: bool) -> Result<()> {
    let missing = missing(matrix);
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|need| need.program).collect();
    let task = if matrix { "cargo xtask setup --matrix" } else { "cargo xtask setup" };
    bail!("missing: {}; `{task}` installs what the tests need", names.join(", "))
}

fn missing(matrix: bool) -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| matrix || !need.matrix_only).filter(|need| !need.is_met()).collect()
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let missing = missing(arguments.matrix);
    let mut plan = apt::plan(&missing)?;
    if missing.iter().any(|need| need.program == "cargo-nextest") {
        plan.push(shell::cargo(&["install", "--locked", needs::NEXTEST]));
    }
    if arguments.matrix {
        plan.extend(matrix::plan(arguments.matrix_dir.clone())?);
    }
    if plan.is_empty() {
        println!("setup: nothing is missing");
        return Ok(());
    }
    for need in &missing {
        println!("missing: {:<16} {}", need.program, need.purpose);
    }
    println!("setup will run:");
    for command in &plan {
        println!("  {}", shell::line(command));
    }
    if !arguments.yes && !agreed()? {
        bail!("setup: nothing was changed");
    }
    for command in &mut plan {
        shell::run(command)?;
    }
    if let Some(need) = missing.iter().find(|need| !need.is_met()) {
        bail!("setup ran, but `{}` is still not to be found ({})", need.program, need.purpose);
    }
    println!("setup: done");
    Ok(())
}

/// A machine without a terminal cannot be asked, so it has to say `--yes`.
fn agreed() -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("setup cannot ask without a terminal: run `cargo xtask setup --yes`");
    }
    print!("Go ahead? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().eq_ignore_ascii_case("y"))
}
