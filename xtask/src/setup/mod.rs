//! `cargo xtask setup`: finds missing programs, prints the commands that install them, asks, and runs the commands.

mod apt;
mod matrix;
mod needs;

use crate::shell;
use anyhow::{Result, bail};
use needs::{NEEDS, Need};
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

pub(crate) use matrix::folder as matrix_folder;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run the commands without asking
    #[arg(long)]
    yes: bool,
    /// Also unpack newer Redis, Valkey and MySQL, for `test --matrix`
    #[arg(long)]
    matrix: bool,
    /// Folder of the unpacked servers (default: target/matrix)
    #[arg(long, value_name = "DIR", env = "EVENKEEL_MATRIX")]
    matrix_dir: Option<PathBuf>,
}

/// Fails if a program is missing; tests are never skipped for a missing program.
pub(crate) fn expect_all(matrix: bool) -> Result<()> {
    let missing = missing(matrix);
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|need| need.program).collect();
    let task = if matrix { "cargo xtask setup --matrix" } else { "cargo xtask setup" };
    bail!("missing programs: {}; to install them, run `{task}`", names.join(", "))
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
        println!("setup: nothing to install");
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
        bail!("setup: canceled, nothing was installed");
    }
    for command in &mut plan {
        shell::run(command)?;
    }
    if let Some(need) = missing.iter().find(|need| !need.is_met()) {
        bail!("setup: `{}` is still missing after the installation ({})", need.program, need.purpose);
    }
    println!("setup: done");
    Ok(())
}

fn agreed() -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("setup cannot ask for confirmation without a terminal: run `cargo xtask setup --yes`");
    }
    print!("Continue? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().eq_ignore_ascii_case("y"))
}
