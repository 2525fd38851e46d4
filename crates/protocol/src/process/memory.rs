//! The reports of an embedded store, and the model of the scripts.

use super::steps::{
    LISTED_MAX, PROCESSES_MAX, ProcessSteps, Processes, REPORT_BYTES_MAX, REPORT_TTL_MS, SEEN_TTL_MS, Stored,
};
use async_trait::async_trait;
use evenkeel_link::LinkError;
use evenkeel_link::clock::Clock;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The reports of the processes on an embedded store.
pub struct MemoryProcesses {
    clock: Clock,
    reports: Mutex<BTreeMap<String, Reported>>,
}

struct Reported {
    at_ms: u64,
    text: String,
}

impl MemoryProcesses {
    /// No process has reported.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, reports: Mutex::default() }
    }
}

#[async_trait]
impl ProcessSteps for MemoryProcesses {
    async fn report(&self, id: &str, text: &str) -> Result<bool, LinkError> {
        let now_ms = self.clock.unix_ms();
        let mut reports = self.reports.lock();
        reports.insert(id.to_owned(), Reported { at_ms: now_ms, text: text.to_owned() });
        reports.retain(|_, report| report.at_ms <= now_ms && now_ms - report.at_ms <= SEEN_TTL_MS);
        while reports.len() > PROCESSES_MAX {
            let oldest = reports.iter().min_by_key(|(id, report)| (report.at_ms, id.as_str()));
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { break };
            reports.remove(&oldest);
        }
        Ok(true)
    }

    async fn leave(&self, id: &str) -> Result<(), LinkError> {
        self.reports.lock().remove(id);
        Ok(())
    }

    async fn processes(&self) -> Result<Processes, LinkError> {
        let now_ms = self.clock.unix_ms();
        let reports = self.reports.lock();
        let mut known: Vec<(&String, &Reported)> = reports
            .iter()
            .filter(|(_, report)| report.at_ms <= now_ms && now_ms - report.at_ms <= SEEN_TTL_MS)
            .collect();
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
