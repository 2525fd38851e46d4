//! Installs packages with apt-get.

use super::needs::Need;
use crate::shell;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// Prevents packages from starting services: the tests start their own servers, on their own ports.
const NO_SERVICES: &str = "/usr/sbin/policy-rc.d";

/// The commands that install the packages of `missing`; none if no package is missing.
pub(crate) fn plan(missing: &[&Need]) -> Result<Vec<Command>> {
    let packages: Vec<&str> = missing.iter().filter_map(|need| need.package).collect();
    if packages.is_empty() {
        return Ok(Vec::new());
    }
    if shell::find("apt-get").is_none() {
        bail!("setup needs apt-get, which is not available; install these programs manually: {}", described(missing));
    }
    let mut install = vec!["apt-get", "install", "--yes", "--no-install-recommends"];
    install.extend(&packages);
    let mut plan = vec![as_root(&["apt-get", "update"])?];
    if Path::new(NO_SERVICES).exists() {
        plan.push(as_root(&install)?);
    } else {
        let deny = format!("printf '#!/bin/sh\\nexit 101\\n' > {NO_SERVICES} && chmod 755 {NO_SERVICES}");
        let quiet = format!("{deny} && {{ {}; result=$?; rm {NO_SERVICES}; exit $result; }}", install.join(" "));
        plan.push(as_root(&["sh", "-c", &quiet])?);
    }
    // With systemd, the new services must not start at boot either.
    if Path::new("/run/systemd/system").exists() {
        let services = ["redis-server", "mariadb", "postgresql", "nats-server"];
        let new = services.into_iter().filter(|service| packages.iter().any(|package| package.starts_with(service)));
        for service in new {
            plan.push(as_root(&["systemctl", "disable", service])?);
        }
    }
    Ok(plan)
}

/// The command as root, with sudo if necessary.
pub(crate) fn as_root(words: &[&str]) -> Result<Command> {
    let mut words = words.to_vec();
    if !is_root() {
        if shell::find("sudo").is_none() {
            bail!("setup needs root or sudo for `{}`", words.join(" "));
        }
        words.insert(0, "sudo");
    }
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    if words[0] == "apt-get" || words[0] == "sh" {
        command.env("DEBIAN_FRONTEND", "noninteractive");
    }
    Ok(command)
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

fn described(missing: &[&Need]) -> String {
    let words: Vec<String> = missing.iter().map(|need| format!("{} ({})", need.program, need.purpose)).collect();
    words.join(", ")
}
