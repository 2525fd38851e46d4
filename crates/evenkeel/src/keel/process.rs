//! The process reports of a [`Keel`].

use super::Keel;
use crate::process::Processes;
use evenkeel_link::LinkError;

/// Process reports; see the module [`process`](crate::process).
impl Keel {
    /// The processes on this store, under this prefix, as they reported last: at most 200, the latest first. A keel in memory reports its
    /// own process now.
    ///
    /// Not guaranteed: that a process that is not listed has ended. It may have switched its reports off, have started in the last ten
    /// seconds, or not reach Redis.
    ///
    /// # Errors
    /// As [`Link::command`](crate::link::Link::command).
    pub async fn processes(&self) -> Result<Processes, LinkError> {
        self.0.context.reporter.processes().await
    }

    /// For test suites: reports now, as the keel does every ten seconds.
    ///
    /// # Errors
    /// As [`Link::command`](crate::link::Link::command).
    #[cfg(feature = "testing")]
    pub async fn report_once(&self) -> Result<(), LinkError> {
        self.0.context.reporter.report_once().await
    }

    /// For test suites: sweeps the libraries of Redis functions now, as a keel does every hour.
    ///
    /// # Errors
    /// As [`Link::command`](crate::link::Link::command).
    #[cfg(feature = "testing")]
    pub async fn sweep_libraries(&self) -> Result<(), LinkError> {
        let Some(link) = self.link() else { return Ok(()) };
        self.0.context.reporter.sweep_libraries_now(link).await
    }
}
