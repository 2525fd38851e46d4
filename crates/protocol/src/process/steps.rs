//! The steps of process reports, on both backends.

use super::report::ProcessReport;
use async_trait::async_trait;
use evenkeel_link::LinkError;
use evenkeel_link::support::guard;

/// The interval of the reports of a process.
pub const INTERVAL_MS: u64 = 10_000;
/// A process whose last report is older than this is not alive, or cannot reach Redis.
pub const ALIVE_MS: u64 = 3 * INTERVAL_MS;
/// How long a report is kept.
pub const REPORT_TTL_MS: u64 = 60_000;
/// How long the time of the last report is kept.
pub const SEEN_TTL_MS: u64 = 3_600_000;
/// The most bytes of a report.
pub const REPORT_BYTES_MAX: usize = 16 << 10;
/// The most processes whose last report is known.
pub const PROCESSES_MAX: usize = 1_000;
/// The most processes that one call lists.
pub const LISTED_MAX: usize = 200;
/// The most bytes of the id of a process.
pub const ID_BYTES_MAX: usize = 128;

/// The last reports of the processes on one store.
#[async_trait]
pub trait ProcessSteps: Send + Sync {
    /// Stores the report of a process, at the store's time. Returns whether it was stored: it is not while another program's value is
    /// under the key of the list.
    async fn report(&self, id: &str, text: &str) -> Result<bool, LinkError>;

    /// Removes a process that ends.
    async fn leave(&self, id: &str) -> Result<(), LinkError>;

    /// The processes that reported last, the latest first, at most [`LISTED_MAX`].
    async fn processes(&self) -> Result<Processes, LinkError>;
}

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
    pub(crate) fn add(&mut self, id: &[u8], seen_ms: u64, stored: Stored<'_>) {
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
pub(crate) enum Stored<'a> {
    /// The report has expired.
    Nothing,
    /// A value of another type, or one that is too large for a report.
    Foreign,
    Text(&'a [u8]),
}

/// The id, if a process can have it.
fn id_of(id: &[u8]) -> Option<String> {
    let is_id = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_valid = !id.is_empty() && id.len() <= ID_BYTES_MAX && id.iter().all(is_id);
    String::from_utf8(id.to_vec()).ok().filter(|_| is_valid)
}
