//! `setup --matrix`: unpacks newer Debian releases into folders, for server versions that this release does not have.
//!
//! trixie has Redis 8.0 and Valkey 8.1; sid has Valkey 9 and MySQL 9. The servers run inside their folder (`chroot`) and listen on the
//! host's loopback interface. The mirror is the one in this machine's package sources.

use super::apt::as_root;
use crate::shell;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One Debian release.
struct Release {
    name: &'static str,
    include: &'static str,
    /// Installed afterwards; its maintainer script may fail, because the program is in place before the script runs.
    later: Option<&'static str>,
    programs: &'static [&'static str],
}

const RELEASES: &[Release] = &[
    Release {
        name: "trixie",
        include: "redis-server,valkey-server",
        later: None,
        programs: &["usr/bin/redis-server", "usr/bin/valkey-server"],
    },
    Release {
        name: "sid",
        include: "valkey-server",
        later: Some("mysql-server-core"),
        programs: &["usr/bin/valkey-server", "usr/sbin/mysqld"],
    },
];

/// The folder of the releases (default: `target/matrix`).
pub(crate) fn folder(asked: Option<PathBuf>) -> PathBuf {
    asked.unwrap_or_else(|| shell::root().join("target/matrix"))
}

/// The commands that unpack the missing releases.
pub(crate) fn plan(asked: Option<PathBuf>) -> Result<Vec<Command>> {
    let folder = folder(asked);
    let missing: Vec<&Release> = RELEASES.iter().filter(|release| !is_there(&folder, release)).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let mirror = mirror()?;
    let mut plan = Vec::new();
    for release in missing {
        let target = folder.join(release.name);
        let path = target.to_str().context("the matrix folder's path is not UTF-8")?;
        if target.exists() {
            plan.push(as_root(&["rm", "-rf", "--one-file-system", path])?);
        }
        plan.push(as_root(&["mkdir", "-p", path])?);
        let include = format!("--include={}", release.include);
        plan.push(as_root(&["debootstrap", "--variant=minbase", &include, release.name, path, &mirror])?);
        if let Some(package) = release.later {
            let install =
                format!("apt-get install --yes --no-install-recommends {package} || test -x /usr/sbin/mysqld");
            plan.push(as_root(&["chroot", path, "sh", "-c", &install])?);
        }
    }
    Ok(plan)
}

fn is_there(folder: &Path, release: &Release) -> bool {
    release.programs.iter().all(|program| folder.join(release.name).join(program).exists())
}

/// The Debian mirror in this machine's package sources.
fn mirror() -> Result<String> {
    let format = "$(ORIGIN)|$(LABEL)|$(REPO_URI)";
    let output = Command::new("apt-get").args(["indextargets", "--format", format]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    match debian_mirror(&text) {
        Some(mirror) => Ok(mirror),
        None => bail!(
            "setup --matrix needs a Debian mirror, and the package sources of this machine have none (run `apt-get update`)"
        ),
    }
}

fn debian_mirror(targets: &str) -> Option<String> {
    targets.lines().find_map(|line| line.strip_prefix("Debian|Debian|")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirror_is_debians_and_not_another_source() {
        let targets =
            "Other|Other|http://other/\nDebian|Debian-Security|http://security/\nDebian|Debian|http://mirror/debian/\n";
        assert_eq!(debian_mirror(targets), Some("http://mirror/debian/".to_owned()));
        assert_eq!(debian_mirror("Other|Other|http://other/\n"), None);
    }
}
