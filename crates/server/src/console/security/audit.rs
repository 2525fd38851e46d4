//! [`Audit`]: who did what. JSON lines, each with the hash of the line before, so that a line that was removed or changed is noticed.
//!
//! An action is written before it is done and after it; if the first line cannot be written, the action is refused. An action without a second
//! line was interrupted: its outcome is unknown.

use crate::console::rights::{Via, Visitor};
use crate::output::escaped;
use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tracing::{error, warn};
use web::hex;

/// The hash before the first line.
const START: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Lines that are kept for the page of the log.
const RECENT_MAX: usize = 500;

/// The log.
pub(crate) struct Audit(Mutex<Log>);

struct Log {
    /// `None`: standard error.
    file: Option<File>,
    /// Whether the file is a regular one, which keeps what is written.
    is_regular: bool,
    before: String,
    /// The newest lines since the start, oldest first.
    recent: VecDeque<Value>,
}

/// An action that was begun.
#[must_use = "the outcome belongs into the log"]
pub(crate) struct Begun<'a> {
    audit: &'a Audit,
    id: String,
}

/// What an action is about.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Deed<'a> {
    pub(crate) source: &'a str,
    pub(crate) action: &'static str,
    /// What it acts on: a topic, a job, a lock.
    pub(crate) target: Value,
}

impl Audit {
    /// Continues the file at `path`, or writes to standard error. A pipe or a device, such as `/dev/stdout`, gets a new chain of hashes.
    pub(crate) fn open(path: Option<&PathBuf>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::of(None, false, START.to_owned()));
        };
        let context = || format!("cannot open the audit log {}", path.display());
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path).with_context(context)?;
        // A pipe or a device cannot be read back: the read would wait for a line, or never end.
        let is_regular = file.metadata().with_context(context)?.is_file();
        let before = if is_regular { continue_at(path).with_context(context)? } else { START.to_owned() };
        Ok(Self::of(Some(file), is_regular, before))
    }

    fn of(file: Option<File>, is_regular: bool, before: String) -> Self {
        Self(Mutex::new(Log { file, is_regular, before, recent: VecDeque::new() }))
    }

    /// Writes that `visitor` is about to do something.
    ///
    /// # Errors
    /// The log cannot be written: the action must not be done.
    pub(crate) fn begin(&self, visitor: &Visitor, deed: &Deed<'_>) -> Result<Begun<'_>> {
        let id = hex(&rand::random::<[u8; 8]>());
        let via = match visitor.via {
            Via::Loopback => "loopback",
            Via::Cookie => "cookie",
            Via::Token => "token",
            Via::Anonymous => "nobody",
        };
        self.write(json!({
            "id": id, "at": jiff::Timestamp::now().to_string(), "actor": visitor.name, "role": visitor.role, "via": via,
            "source": deed.source, "action": deed.action, "target": deed.target, "outcome": "begun",
        }))?;
        Ok(Begun { audit: self, id })
    }

    /// The newest entries since the start, newest first, and whether a file has all.
    pub(crate) fn recent(&self) -> (Vec<Value>, bool) {
        let log = self.0.lock();
        (log.recent.iter().rev().cloned().collect(), log.is_regular)
    }

    fn write(&self, mut entry: Value) -> Result<()> {
        let mut log = self.0.lock();
        entry["before"] = Value::String(log.before.clone());
        // Names that other programs chose do not control the terminal in which the file is read.
        let line = escaped(&entry.to_string());
        let is_regular = log.is_regular;
        match &mut log.file {
            Some(file) => {
                file.write_all(format!("{line}\n").as_bytes())?;
                if is_regular {
                    file.sync_data()?;
                }
            }
            None => writeln!(std::io::stderr(), "{line}")?,
        }
        log.before = hash(&line);
        if log.recent.len() == RECENT_MAX {
            log.recent.pop_front();
        }
        log.recent.push_back(entry);
        Ok(())
    }
}

impl Begun<'_> {
    /// Writes what became of it.
    pub(crate) fn end(self, outcome: &str, result: &Value) {
        let entry =
            json!({ "id": self.id, "at": jiff::Timestamp::now().to_string(), "outcome": outcome, "result": result });
        if let Err(cause) = self.audit.write(entry) {
            error!(
                id = self.id,
                outcome,
                error = format!("{cause:#}"),
                "the outcome of an action could not be written to the audit log"
            );
        }
    }
}

/// The hash of the last line of a log. Warns if a line is missing or was changed.
fn continue_at(path: &Path) -> Result<String> {
    let mut before = START.to_owned();
    for (number, line) in BufReader::new(File::open(path)?).lines().enumerate() {
        let line = line?;
        let entry: Value = serde_json::from_str(&line).unwrap_or_default();
        if entry["before"] != before {
            let file = path.display();
            warn!(%file, line = number + 1, "the audit log was changed: this line does not follow the one before it");
        }
        before = hash(&line);
    }
    Ok(before)
}

fn hash(line: &str) -> String {
    hex(&Sha256::digest(line.as_bytes()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use crate::console::rights::Role;

    #[test]
    fn lines_are_chained_also_over_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let anonymous = Visitor::anonymous(String::new());
        let visitor = Visitor { name: "ada".to_owned(), role: Some(Role::Admin), via: Via::Cookie, ..anonymous };
        for number in 0..2 {
            let audit = Audit::open(Some(&path)).unwrap();
            let deed = Deed { source: "main", action: "pause", target: json!({ "topic": number }) };
            audit.begin(&visitor, &deed).unwrap().end("done", &json!({}));
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let mut before = START.to_owned();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            assert_eq!(entry["before"], before, "{line}");
            before = hash(line);
        }
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("\"actor\":\"ada\"") && !text.contains("csrf"));
    }
}
