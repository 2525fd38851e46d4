//! The process reports, for all pages that were requested within a second.

use super::Collector;
use evenkeel::clock::Moment;
use evenkeel::process::Processes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How old a reading may be that a page shows.
const SHARED: Duration = Duration::from_secs(1);
/// How long a reading may take.
const READ_MAX: Duration = Duration::from_secs(5);

/// The last reading. It is locked while it is read, so that requests at the same time share it.
#[derive(Default)]
pub(super) struct LastReports(Mutex<Option<(Moment, Arc<Reports>)>>);

/// The reports as they were read last.
#[derive(Clone, Default)]
pub(crate) struct Reports {
    pub(crate) found: Processes,
    /// Why the last reading failed, while the reports are those of an earlier one.
    pub(crate) failed: Option<String>,
}

impl Collector {
    /// The process reports, at most a second old if Redis answers.
    pub(crate) async fn reports(&self) -> Arc<Reports> {
        let mut last = self.reports.0.lock().await;
        let now = self.clock.now();
        if let Some((at, reports)) = &*last
            && now.since(*at) < SHARED
        {
            return Arc::clone(reports);
        }
        let reports = Arc::new(match self.read_reports().await {
            Ok(found) => Reports { found, failed: None },
            Err(failed) => {
                let found = last.as_ref().map(|(_, reports)| reports.found.clone()).unwrap_or_default();
                Reports { found, failed: Some(failed) }
            }
        });
        *last = Some((self.clock.now(), Arc::clone(&reports)));
        reports
    }

    /// Reads the process reports now.
    pub(super) async fn read_reports(&self) -> Result<Processes, String> {
        match self.clock.timeout(READ_MAX, self.source.keel.processes()).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("Redis took longer than {} s", READ_MAX.as_secs())),
        }
    }
}
