//! Runs commands, and prints each with its duration so that a reader can repeat it.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The repository's root folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Cargo's target folder.
pub(crate) fn target() -> Result<PathBuf> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata has no target folder")?;
    Ok(PathBuf::from(folder))
}

/// `cargo` with these arguments, in the repository's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    // `cargo run` tells a program about its package. A build script that reads this (that of ring does) would run again, and all that depends
    // on it would be built again, whenever a command and a task take turns.
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package)) {
        command.env_remove(name);
    }
    command
}

/// Prints and runs the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", line(command));
    run_silently(command)
}

/// Runs the command without printing it, for output that a program reads.
pub(crate) fn run_silently(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("`{}` could not be started", line(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

/// The command as one would type it, including its added environment.
pub(crate) fn line(command: &Command) -> String {
    let mut words: Vec<String> = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", text(name), quoted(&text(value?)))))
        .collect();
    let program = Path::new(command.get_program());
    words.push(if program.ends_with("cargo") { "cargo".to_owned() } else { text(command.get_program()) });
    words.extend(command.get_args().map(|argument| quoted(&text(argument))));
    words.join(" ")
}

/// The output of git; `None` if it fails.
pub(crate) fn git(arguments: &[&str]) -> Result<Option<String>> {
    let output = Command::new("git").args(arguments).current_dir(root()).output().context("git")?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// The number of commits, by which successive commits choose successive parts of what no commit runs as a whole.
pub(crate) fn turn() -> Result<u32> {
    let count = git(&["rev-list", "--count", "HEAD"])?.unwrap_or_default();
    Ok(count.trim().parse().unwrap_or(0))
}

/// Finds a program on the PATH, or in the usual folders of servers.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from));
    // Debian installs PostgreSQL outside of the PATH, in one folder per version.
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    folders.into_iter().map(|folder| folder.join(program)).find(|file| file.is_file())
}

pub(crate) fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_command_can_be_run_again() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'two words'", ""]).env("NAME", "a b");
        assert_eq!(line(&command), r"NAME='a b' sh -c 'echo '\''two words'\''' ''");
    }

    #[test]
    fn error_contains_the_failed_command() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).map_err(|error| error.to_string());
        assert_eq!(error, Err("`sh -c 'exit 3'` failed (exit status: 3)".to_owned()));
    }
}
