//! The report of all checks, as text and as JSON.

use crate::address::Address;
use serde::Serialize;
use std::fmt;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Ok,
    /// Evenkeel works, with the disadvantage that the remedy names.
    Warn,
    /// Evenkeel does not work, or does not keep its guarantees.
    Fail,
}

/// One check.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    pub(crate) check: &'static str,
    pub(crate) verdict: Verdict,
    pub(crate) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
}

/// One server and its checks.
#[derive(Debug, Serialize)]
pub(crate) struct Server {
    pub(crate) address: String,
    pub(super) reached: bool,
    /// What a Redis calls its present process, whatever its address is.
    #[serde(skip)]
    pub(super) run_id: Option<String>,
    pub(crate) checks: Vec<Check>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) servers: Vec<Server>,
}

impl Server {
    pub(super) fn new(address: &Address) -> Self {
        Self { address: address.shown.clone(), reached: false, run_id: None, checks: Vec::new() }
    }

    pub(super) fn ok(&mut self, check: &'static str, found: impl Into<String>) {
        self.checks.push(Check { check, verdict: Verdict::Ok, found: found.into(), remedy: None });
    }

    pub(super) fn warn(&mut self, check: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.checks.push(Check { check, verdict: Verdict::Warn, found: found.into(), remedy: Some(remedy.into()) });
    }

    pub(super) fn fail(&mut self, check: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.checks.push(Check { check, verdict: Verdict::Fail, found: found.into(), remedy: Some(remedy.into()) });
    }

    /// Records `ok` if the condition holds, otherwise `fail` with the remedy.
    pub(super) fn require(&mut self, holds: bool, check: &'static str, found: impl Into<String>, remedy: &str) {
        if holds { self.ok(check, found) } else { self.fail(check, found, remedy) }
    }

    /// Records `ok` if the condition holds, otherwise `warn` with the remedy.
    pub(super) fn advise(&mut self, holds: bool, check: &'static str, found: impl Into<String>, remedy: &str) {
        if holds { self.ok(check, found) } else { self.warn(check, found, remedy) }
    }
}

impl Report {
    /// Warns of addresses that lead to one server.
    pub(super) fn compare(&mut self) {
        for place in 1..self.servers.len() {
            let (before, rest) = self.servers.split_at_mut(place);
            let Some(server) = rest.first_mut().filter(|server| server.run_id.is_some()) else { continue };
            if let Some(same) = before.iter().find(|before| before.run_id == server.run_id) {
                let remedy = "for a Redlock, use independent servers: databases of one server fail together";
                server.warn("independent", format!("the same server as {}", same.address), remedy);
            }
        }
    }

    pub(super) fn count(&self, verdict: Verdict) -> usize {
        self.servers.iter().flat_map(|server| &server.checks).filter(|check| check.verdict == verdict).count()
    }

    pub(super) fn json(&self) -> String {
        let object = serde_json::json!({
            "servers": self.servers,
            "ok": self.count(Verdict::Ok),
            "warn": self.count(Verdict::Warn),
            "fail": self.count(Verdict::Fail),
        });
        format!("{object:#}\n")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for server in &self.servers {
            writeln!(f, "{}", server.address)?;
            for Check { check, verdict, found, remedy } in &server.checks {
                let verdict = match verdict {
                    Verdict::Ok => "ok",
                    Verdict::Warn => "warn",
                    Verdict::Fail => "FAIL",
                };
                write!(f, "  {verdict:<4}  {check:<12}  {found}")?;
                match remedy {
                    Some(remedy) => writeln!(f, " → {remedy}")?,
                    None => writeln!(f)?,
                }
            }
        }
        let [ok, warn, fail] = [Verdict::Ok, Verdict::Warn, Verdict::Fail].map(|verdict| self.count(verdict));
        writeln!(f, "{ok} ok, {warn} warn, {fail} fail")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_lists_checks_and_their_totals() {
        let mut server = Server { address: "redis://host".to_owned(), reached: true, run_id: None, checks: Vec::new() };
        server.ok("connect", "connected");
        server.advise(false, "memory", "no limit", "set one");
        server.require(false, "scripts", "refused", "allow them");
        server.require(true, "version", "Redis 7.0", "use 7.0");
        let lines = "redis://host\n  ok    connect       connected\n  warn  memory        no limit → set one\n  \
            FAIL  scripts       refused → allow them\n  ok    version       Redis 7.0\n2 ok, 1 warn, 1 fail\n";
        assert_eq!(Report { servers: vec![server] }.to_string(), lines);
    }
}
