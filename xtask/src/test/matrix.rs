//! `cargo xtask test --matrix`: what talks to a server, on every server version that `setup --matrix` unpacked.

use super::Park;
use crate::setup;
use crate::shell::{self, Steps, cargo};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The suites that must pass on each Redis and Valkey, and those that must pass on each database.
const ON_REDIS: &str = "package(evenkeel) & binary(it) & !test(/^hermetic/)";
const ON_DATABASE: &str = "((package(shortlink) | package(stockroom)) & test(/(^|::|_)(mariadb|mysql)/)) \
                           | (package(evenkeel) & test(/^sql::.*mariadb::/))";

/// One server to run a suite on.
struct Server {
    /// The release it was unpacked with; `None` is the one this machine has installed.
    release: Option<&'static str>,
    program: &'static str,
    /// The test kit's variable that names the program.
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

pub(crate) fn run(steps: &mut Steps, folder: Option<PathBuf>) -> Result<()> {
    let folder = setup::matrix_folder(folder);
    let mut tested = Vec::new();
    for server in SERVERS {
        let line = server.line(&folder)?;
        let version = version(&line)?;
        steps.step(&version, || {
            let park = Park::start(&[(server.variable.to_owned(), line.clone())])?;
            let mut command = cargo(&["nextest", "run", "--workspace", "--filterset", server.suite]);
            command.envs(park.addresses());
            shell::run(&mut command)
        })?;
        tested.push(version);
    }
    println!("\nthe suites passed on:");
    for version in tested {
        println!("  {version}");
    }
    Ok(())
}

/// The newest MySQL of the matrix, as the test kit is told of it.
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
    fn servers_tell_their_versions_in_their_own_ways() {
        assert_eq!(shortened("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"), "Redis 7.0.15");
        assert_eq!(shortened("Valkey server v=8.1.1 sha=00000000:0"), "Valkey 8.1.1");
        assert_eq!(shortened("/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 ((Debian))"), "MySQL 9.7.4");
    }
}
