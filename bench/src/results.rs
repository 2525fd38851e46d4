//! Keeps results in bench/RESULTS.md, one section per bench, with everything needed to doubt or repeat them.

use crate::id;
use crate::limit;
use crate::lock;
use crate::peer;
use crate::queue;
use crate::row::{Row, line, table};
use crate::stream;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

const HEAD: &str = "# Results\n\nMeasured by `cargo xtask bench NAME` on the machine that each section names. Ours and the peer alternate within one run;\n`ratio` is the median of the rounds' ratios, `spread` the difference between the highest and the lowest, as a part of the median.\n";

/// Prints each row as it is measured, and saves the rows so far, so that an interrupted run keeps them.
pub(crate) struct Keeper {
    bench: &'static str,
    json: bool,
    save: bool,
    rows: Vec<Row>,
}

impl Keeper {
    /// Prints tables or JSON objects, and optionally saves the rows in bench/RESULTS.md.
    pub(crate) fn new(bench: &'static str, json: bool, save: bool) -> Self {
        Self { bench, json, save, rows: Vec::new() }
    }

    /// Adds rows that have been measured.
    pub(crate) fn keep(&mut self, rows: impl IntoIterator<Item = Row>) -> Result<()> {
        for row in rows {
            if self.json {
                row.print_json()?;
            } else {
                println!("{}", line(&row));
            }
            self.rows.push(row);
        }
        if self.save { save(self.bench, &self.rows) } else { Ok(()) }
    }
}

/// Replaces the section of this bench, or adds it.
fn save(bench: &str, rows: &[Row]) -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
    let old = fs::read_to_string(&file).unwrap_or_else(|_| HEAD.to_owned());
    let section = format!("## {bench}\n\n{}\n{}", conditions(bench), table(rows));
    // Atomic, so that an interrupted run leaves a complete file.
    let fresh = file.with_extension("md.new");
    fs::write(&fresh, replaced(&old, bench, &section)).with_context(|| fresh.display().to_string())?;
    fs::rename(&fresh, &file).with_context(|| file.display().to_string())
}

fn replaced(old: &str, bench: &str, section: &str) -> String {
    let title = format!("## {bench}\n");
    let mut parts: Vec<String> = Vec::new();
    for part in old
        .split("\n## ")
        .enumerate()
        .map(|(index, part)| if index == 0 { part.to_owned() } else { format!("## {part}") })
    {
        parts.push(if part.starts_with(&title) { section.to_owned() } else { part });
    }
    if !old.contains(&format!("\n{title}")) {
        parts.push(section.to_owned());
    }
    let trimmed: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    format!("{}\n", trimmed.join("\n\n"))
}

/// Machine, versions, command.
fn conditions(bench: &str) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let processors = read("/proc/cpuinfo");
    // Counted, because this process is pinned to one of them.
    let cores = processors.lines().filter(|line| line.starts_with("processor")).count();
    let cpu = field(&processors, "model name");
    let kernel = read("/proc/sys/kernel/osrelease");
    let commit = said("git", &["rev-parse", "--short", "HEAD"]);
    let lines = [
        format!(
            "- machine: {cores} cores of {cpu}, {} memory, Linux {}",
            field(&read("/proc/meminfo"), "MemTotal"),
            kernel.trim()
        ),
        format!("- versions: {}; {}", said("rustc", &["--version"]), said("redis-server", &["--version"])),
        format!("- peers: {}", versions(bench)),
        format!("- command: `cargo xtask bench {bench}` at {commit}"),
    ];
    lines.join("\n") + "\n"
}

/// The peers of the comparison.
fn versions(bench: &str) -> String {
    match bench {
        "queue" => queue::versions(),
        "id" => id::versions(),
        "limit" => limit::versions(),
        "lock" => lock::versions(),
        "stream" => stream::versions(),
        "console" => "none; each page is compared with its limit".to_owned(),
        _ => peer::versions(),
    }
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_where_it_stands() {
        let old = "# Results\n\nwords\n\n## cache\n\nold\n\n## shortlink\n\nkept\n";
        let new = replaced(old, "cache", "## cache\n\nnew\n");
        assert_eq!(new, "# Results\n\nwords\n\n## cache\n\nnew\n\n## shortlink\n\nkept\n");
        assert_eq!(replaced("# Results\n", "cache", "## cache\n\nnew\n"), "# Results\n\n## cache\n\nnew\n");
    }
}
