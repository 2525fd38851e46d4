//! The reports in Redis.
//!
//! The keys of one prefix share the hash tag `{p}`, so that a report is one call on a cluster, too. They begin with the prefix, as an access
//! rule for the keys of the cache expects it.

use super::steps::{
    ID_BYTES_MAX, LISTED_MAX, PROCESSES_MAX, ProcessSteps, Processes, REPORT_BYTES_MAX, REPORT_TTL_MS, SEEN_TTL_MS,
    Stored,
};
use async_trait::async_trait;
use evenkeel_link::{Link, LinkError};
use redis::Value;
use std::time::Duration;

scripts! {
    /// The scripts of process reports.
    pub const SCRIPTS in "", "scripts/";
    library "process" of [];

    static REPORT = "report-2", "", [];
    static REPORTS = "reports-1", "no-writes", [];
}

/// The response time-out of a report. It is shorter than that of most links, which therefore do not count it as silence of the server.
const REPORT_TIMEOUT: Duration = Duration::from_millis(500);

/// The reports of the processes on this Redis.
pub struct RedisProcesses {
    link: Link,
    /// For the own reports.
    impatient: Link,
    times: String,
}

impl RedisProcesses {
    /// The reports under the prefix of the link.
    #[must_use]
    pub fn new(link: Link) -> Self {
        let times = format!("{}:{{p}}", link.prefix());
        Self { impatient: link.with_response_timeout(REPORT_TIMEOUT), link, times }
    }

    fn key(&self, id: &str) -> String {
        format!("{}:{id}", self.times)
    }
}

#[async_trait]
impl ProcessSteps for RedisProcesses {
    async fn report(&self, id: &str, text: &str) -> Result<bool, LinkError> {
        let limits = [REPORT_TTL_MS, SEEN_TTL_MS, PROCESSES_MAX as u64].map(|limit| limit.to_string());
        let [report_ttl, seen_ttl, processes] = limits.each_ref().map(String::as_bytes);
        let args = [id.as_bytes(), text.as_bytes(), report_ttl, seen_ttl, processes];
        let key = self.key(id);
        let stored: i64 = self.impatient.run(&REPORT, &[self.times.as_bytes(), key.as_bytes()], &args).await?;
        Ok(stored == 1)
    }

    async fn leave(&self, id: &str) -> Result<(), LinkError> {
        let mut pipeline = redis::Pipeline::with_capacity(2);
        pipeline.cmd("ZREM").arg(&self.times).arg(id);
        pipeline.cmd("DEL").arg(self.key(id));
        self.impatient.pipeline(self.times.as_bytes(), &pipeline).await?;
        Ok(())
    }

    async fn processes(&self) -> Result<Processes, LinkError> {
        let limits = [LISTED_MAX as u64, REPORT_BYTES_MAX as u64, ID_BYTES_MAX as u64, SEEN_TTL_MS, REPORT_TTL_MS];
        let limits = limits.map(|limit| limit.to_string());
        let reply: Value =
            self.link.run(&REPORTS, &[self.times.as_bytes()], &limits.each_ref().map(String::as_bytes)).await?;
        read(&reply).ok_or_else(|| LinkError::Unexpected(format!("{}: {reply:?}", REPORTS.name())))
    }
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
