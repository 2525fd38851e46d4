//! Runs the program, and normalizes its output.

use std::process::Command;

/// The output and the exit code of a run.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `evenkeel` with these arguments.
pub(crate) fn evenkeel(arguments: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel")).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// [`evenkeel`] on a thread of its own, for asynchronous tests.
pub(crate) async fn evenkeel_async(arguments: &[&str]) -> Ran {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let run = move || evenkeel(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// The checks without what differs between machines and runs: version numbers, measured times, and the totals.
pub(crate) fn normal(text: &str) -> String {
    let measured = ["latency", "clock"];
    let mut lines = String::new();
    for line in text.lines().filter(|line| line.starts_with("  ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[1] == "version" {
            lines.push_str(&format!("  {:<4}  {:<12}  {} N\n", words[0], words[1], words[2]));
        } else if !measured.contains(&words[1]) {
            lines.push_str(&format!("{line}\n"));
        }
    }
    lines
}
