//! `evenkeel completions` and `evenkeel man`: generated from the command line itself, so that they cannot be out of date.

use crate::connect::exit_code;
use crate::output::write;
use anyhow::{Context, Result};
use clap_complete::Shell;
use std::path::PathBuf;
use std::process::ExitCode;

/// The program's name in completions and manual pages.
const PROGRAM: &str = "evenkeel";

#[derive(clap::Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

#[derive(clap::Args)]
pub(crate) struct ManArguments {
    /// Write evenkeel.1, evenkeel-queue.1, .. into this folder instead
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Prints the completions of a shell.
pub(crate) fn completions(arguments: &CompletionsArguments, command: &mut clap::Command) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, command, PROGRAM, &mut text);
    exit_code(write(&String::from_utf8_lossy(&text)).map(|()| true), &[])
}

/// Prints the manual page, or writes all of them.
pub(crate) fn man(arguments: &ManArguments, command: clap::Command) -> ExitCode {
    exit_code(write_man(arguments, command).map(|()| true), &[])
}

fn write_man(arguments: &ManArguments, command: clap::Command) -> Result<()> {
    if let Some(folder) = &arguments.folder {
        return clap_mangen::generate_to(command, folder)
            .with_context(|| format!("cannot write into {}", folder.display()));
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    write(&String::from_utf8_lossy(&text))
}
