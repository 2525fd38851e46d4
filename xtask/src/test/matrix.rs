//! `cargo xtask test --matrix`: runs the tests that depend on a server on every server version that `setup --matrix` unpacked.
//!
//! Tests that do not use the server (models, the embedded store, the other databases) run only in `cargo xtask test`.

use super::Park;
use crate::setup;
use crate::shell::{self, cargo};
use crate::steps::Steps;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The library's tests that use Redis: link, cache with near cache and published protocols, queue with its crash points, locks, Redlock,
/// permissions, and the unit of work on SQLite.
const ON_REDIS: &str =
    "package(evenkeel) & binary(it) & !test(/^hermetic::|::memory::|_memory$|mariadb|postgres|nats/)";
/// The tests that use MariaDB or MySQL, by their names: the unit of work with its kills, relay, inbox, SQL queues, row and database locks,
/// fencing tokens, contention, and the stores of both applications.
const ON_DATABASE: &str = "(package(evenkeel) & binary(it) & test(/mariadb|mysql/)) \
                           | ((package(shortlink) | package(stockroom)) & test(/(^|::|_)(mariadb|mysql)/))";

/// One server of the matrix.
struct Server {
    /// The Debian release that has it; `None` for the installed one.
    release: Option<&'static str>,
    program: &'static str,
    /// The environment variable with which the test kit selects the program.
    variable: &'static str,
    suite: &'static str,
}

const SERVERS: &[Server] = &[
    Server { release: None, program: "redis-server", variable: "EVENKEEL_REDIS_SERVER", suite: ON_REDIS },
    Server {
        release: Some("trixie"),
        program: "/usr/bin/redis-server",
        variable: "EVENKEEL_REDIS_SERVER",
        suite: ON_REDIS,
    },
    Server {
        release: Some("trixie"),
        program: "/usr/bin/valkey-server",
        variable: "EVENKEEL_REDIS_SERVER",
        suite: ON_REDIS,
    },
    Server {
        release: Some("sid"),
        program: "/usr/bin/valkey-server",
        variable: "EVENKEEL_REDIS_SERVER",
        suite: ON_REDIS,
    },
    Server {
        release: Some("sid"),
        program: "/usr/sbin/mysqld",
        variable: "EVENKEEL_MARIADB_SERVER",
        suite: ON_DATABASE,
    },
];

/// The result of a server's suite.
struct Tested {
    version: String,
    /// The summary of nextest.
    summary: String,
    passed: bool,
}

/// Runs the suites of all servers, or of those whose version contains `only`, also after a failure. `filters` are passed to nextest.
pub(crate) fn run(steps: &mut Steps, folder: Option<PathBuf>, only: Option<&str>, filters: &[&str]) -> Result<()> {
    let folder = setup::matrix_folder(folder);
    let mut all = Vec::new();
    for server in SERVERS {
        let line = server.line(&folder)?;
        let version = version(&line)?;
        if only.is_some_and(|only| !version.contains(only)) {
            continue;
        }
        all.push(steps.step(&version, || {
            let park = Park::start(&[(server.variable.to_owned(), line.clone())])?;
            let mut command = cargo(&["nextest", "run", "--workspace", "--filterset", server.suite]);
            command.args(filters).envs(park.addresses());
            if !filters.is_empty() {
                // The filters may select no test of a server's suite.
                command.args(["--no-tests", "pass"]);
            }
            let (passed, summary) = suite(&mut command)?;
            Ok(Tested { version: version.clone(), summary, passed })
        })?);
    }
    println!();
    for Tested { version, summary, passed } in &all {
        println!("{} on {version}: {summary}", if *passed { "passed" } else { "FAILED" });
    }
    if all.is_empty() {
        bail!("no server of the matrix matches {:?}", only.unwrap_or_default());
    }
    if all.iter().any(|tested| !tested.passed) {
        bail!("tests failed on a server of the matrix");
    }
    Ok(())
}

/// Runs a suite and passes its output on. Returns whether it passed, and the summary of nextest.
fn suite(command: &mut Command) -> Result<(bool, String)> {
    println!("$ {}", shell::line(command));
    let mut run = command.stderr(Stdio::piped()).spawn().context("cargo nextest could not be started")?;
    let lines = BufReader::new(run.stderr.take().context("its output is piped")?).lines();
    let mut summary = None;
    for line in lines {
        let line = line?;
        eprintln!("{line}");
        summary = summed_up(&line).map(str::to_owned).or(summary);
    }
    let passed = run.wait()?.success();
    Ok((passed, summary.unwrap_or_else(|| "no test finished".to_owned())))
}

/// The counts in `Summary [  12.3s] 5 tests run: 5 passed, 0 skipped`.
fn summed_up(line: &str) -> Option<&str> {
    let (_, summary) = line.trim_start().strip_prefix("Summary [")?.split_once(']')?;
    Some(summary.trim())
}

/// The newest MySQL of the matrix, as an environment variable for the test kit.
pub(crate) fn mysql(folder: &Path) -> Result<(String, String)> {
    let server = SERVERS.iter().find(|server| server.suite == ON_DATABASE).context("the matrix has no MySQL")?;
    Ok((server.variable.to_owned(), server.line(folder)?))
}

impl Server {
    /// The command line the test kit starts it with.
    fn line(&self, folder: &Path) -> Result<String> {
        let Some(release) = self.release else { return Ok(self.program.to_owned()) };
        let root = folder.join(release);
        if !root.join(self.program.trim_start_matches('/')).exists() {
            bail!("{} of {release} is not in {}: run `cargo xtask setup --matrix`", self.program, folder.display());
        }
        Ok(format!("chroot {} {}", root.display(), self.program))
    }
}

/// What the server says of itself, shortened to name and number.
fn version(line: &str) -> Result<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).arg("--version").output();
    let output = output.with_context(|| format!("`{line} --version` could not be started"))?;
    Ok(shortened(&String::from_utf8_lossy(&output.stdout)))
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    let name = ["Redis", "Valkey", "MariaDB"].into_iter().find(|name| text.contains(name)).unwrap_or("MySQL");
    let mut words = text.split_whitespace();
    let number = words.find_map(|word| {
        let number = word.strip_prefix("v=").unwrap_or(word);
        number.starts_with(|c: char| c.is_ascii_digit()).then_some(number)
    });
    format!("{name} {}", number.unwrap_or("of unknown version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_is_found_among_other_lines() {
        let line = "     Summary [ 411.2s] 700 tests run: 699 passed (1 slow), 1 failed, 800 skipped";
        assert_eq!(summed_up(line), Some("700 tests run: 699 passed (1 slow), 1 failed, 800 skipped"));
        assert_eq!(summed_up("        PASS [   0.1s] evenkeel::it cache::summary"), None);
    }

    #[test]
    fn versions_of_each_server_are_parsed() {
        assert_eq!(shortened("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"), "Redis 7.0.15");
        assert_eq!(shortened("Valkey server v=8.1.1 sha=00000000:0"), "Valkey 8.1.1");
        assert_eq!(shortened("/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 ((Debian))"), "MySQL 9.7.4");
    }
}
