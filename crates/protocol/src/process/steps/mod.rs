//! The steps of process reports. Each is a value, with its script next to it; docs/spec/process.md specifies them.

mod list;
mod report;

pub use list::*;
pub use report::*;

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
