//! [`ReadProcesses`]: the processes that reported last.

use super::{ALIVE_MS, ID_BYTES_MAX, LISTED_MAX, REPORT_BYTES_MAX, REPORT_TTL_MS, SEEN_TTL_MS};
use crate::process::backend::{Namespace, REPORTS, Reports};
use crate::process::report::ProcessReport;
use crate::step::{Args, Call, Step};
use evenkeel_link::LinkError;
use evenkeel_link::support::guard;
use redis::Value;

/// Reads the processes that reported last, the latest first, at most [`LISTED_MAX`].
#[derive(Clone, Copy, Debug)]
pub struct ReadProcesses;

/// The processes on one store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Processes {
    /// The store's time at which they were read, in ms since 1970.
    pub now_ms: u64,
    /// The processes that reported last, the latest first.
    pub processes: Vec<Process>,
    /// The number of processes that reported within the last hour but are not in this list.
    pub further: u64,
    /// The number of values under these keys that are not reports; another program has put them there.
    pub ignored: u64,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// Host, process id and a random number: `HOST.PID.NUMBER`.
    pub id: String,
    /// When it last reported, in ms since 1970.
    pub seen_ms: u64,
    /// Its last report, which is kept for a minute.
    pub report: Option<ProcessReport>,
}

impl Process {
    /// Whether it was alive at `now_ms`: its last report is at most 30 s old.
    #[must_use]
    pub fn is_alive(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.seen_ms) <= ALIVE_MS
    }
}

impl Processes {
    /// Adds what is stored for a process. What is not a report is counted, and otherwise ignored.
    fn add(&mut self, id: &[u8], seen_ms: u64, stored: Stored<'_>) {
        match process_of(id, seen_ms, stored) {
            Some(process) => self.processes.push(process),
            None => self.ignored += 1,
        }
    }
}

/// The process, unless what is stored for it is not a report.
fn process_of(id: &[u8], seen_ms: u64, stored: Stored<'_>) -> Option<Process> {
    let id = id_of(id)?;
    let report = match stored {
        Stored::Nothing => None,
        Stored::Foreign => return None,
        Stored::Text(text) => match serde_json::from_slice(text) {
            // An array would be read as the fields in their order.
            Ok(report) if text.starts_with(b"{") => Some(report),
            _ if guard("process_report_ignored") => return None,
            _ => Some(ProcessReport::default()),
        },
    };
    Some(Process { id, seen_ms, report })
}

/// What is stored for a process.
#[derive(Clone, Copy)]
enum Stored<'a> {
    /// The report has expired.
    Nothing,
    /// A value of another type, or one that is too large for a report.
    Foreign,
    Text(&'a [u8]),
}

impl Step<Namespace> for ReadProcesses {
    type Reply = Processes;

    fn call(&self, _: &Namespace) -> Call {
        let args = Args::default().size(LISTED_MAX).size(REPORT_BYTES_MAX).size(ID_BYTES_MAX);
        Call::function(&REPORTS, args.number(SEEN_TTL_MS).number(REPORT_TTL_MS))
    }

    fn reply(&self, value: Value) -> Result<Processes, LinkError> {
        read(&value).ok_or_else(|| LinkError::Unexpected(format!("{}: {value:?}", REPORTS.name())))
    }

    fn apply(&self, reports: &mut Reports, now_ms: u64) -> Result<Processes, LinkError> {
        let is_known = |at_ms: u64| at_ms <= now_ms && now_ms - at_ms <= SEEN_TTL_MS;
        let mut known: Vec<_> = reports.iter().filter(|(_, report)| is_known(report.at_ms)).collect();
        known.sort_by(|(one, a), (other, b)| (b.at_ms, other).cmp(&(a.at_ms, one)));
        let further = known.len().saturating_sub(LISTED_MAX) as u64;
        let mut processes = Processes { now_ms, further, ..Processes::default() };
        for (id, report) in known.into_iter().take(LISTED_MAX) {
            let stored = if now_ms - report.at_ms >= REPORT_TTL_MS {
                Stored::Nothing
            } else if report.text.len() > REPORT_BYTES_MAX {
                Stored::Foreign
            } else {
                Stored::Text(report.text.as_bytes())
            };
            processes.add(id.as_bytes(), report.at_ms, stored);
        }
        Ok(processes)
    }
}

/// The id, if a process can have it.
fn id_of(id: &[u8]) -> Option<String> {
    let is_id = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_valid = !id.is_empty() && id.len() <= ID_BYTES_MAX && id.iter().all(is_id);
    String::from_utf8(id.to_vec()).ok().filter(|_| is_valid)
}

fn read(reply: &Value) -> Option<Processes> {
    let Value::Array(parts) = reply else { return None };
    let [Value::Int(now), Value::Int(known), entries @ ..] = parts.as_slice() else { return None };
    let mut processes = Processes { now_ms: u64::try_from(*now).ok()?, ..Processes::default() };
    let Ok(known) = u64::try_from(*known) else {
        processes.ignored = 1;
        return Some(processes);
    };
    for entry in entries.chunks_exact(3) {
        let [Value::BulkString(id), Value::BulkString(at), report] = entry else { return None };
        let stored = match report {
            Value::Nil => Stored::Nothing,
            Value::BulkString(text) => Stored::Text(text),
            _ => Stored::Foreign,
        };
        processes.add(id, time_of(at)?, stored);
    }
    processes.further = known.saturating_sub(entries.len() as u64 / 3);
    Some(processes)
}

/// A score. Redis's time is a whole number; another program's may have a fraction.
fn time_of(score: &[u8]) -> Option<u64> {
    let score: f64 = std::str::from_utf8(score).ok()?.parse().ok()?;
    // The script replies no time before 1970 nor after now.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times fit into 53 bits")]
    let time = score as u64;
    Some(time)
}
