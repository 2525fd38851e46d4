//! [`Reporter`]: collects what this process does, and reports it.

use super::draft::{Draft, Reported};
use super::host;
use super::libraries;
use super::metrics::ReporterMetrics;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, SweepAt};
use evenkeel_link::{Link, LinkError};
use evenkeel_protocol::process::report::ProcessReport;
use evenkeel_protocol::process::steps::{INTERVAL_MS, Leave, Processes, ReadProcesses, Report};
use evenkeel_protocol::process::{Namespace, ProcessBackend};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// The interval of the reports. The first is sent after one interval, so a program that ends at once leaves none.
const INTERVAL: Duration = Duration::from_millis(INTERVAL_MS);

/// Collects what this process does, and reports it. The parts of the process hold it, so that it reports as long as one of them exists.
pub(crate) struct Reporter {
    backend: ProcessBackend,
    namespace: Namespace,
    link: Option<Link>,
    clock: Clock,
    /// The program has not switched the reports off.
    is_on: bool,
    host: String,
    id: String,
    started_ms: u64,
    parts: Mutex<Parts>,
    metrics: ReporterMetrics,
    /// A report was sent, so that there is something to remove.
    has_reported: AtomicBool,
    /// A failure was logged, and no report has succeeded since.
    has_logged: AtomicBool,
    running: OnceLock<Background>,
    /// When the libraries of functions are swept next, in ms since 1970.
    sweep_at_ms: AtomicU64,
}

#[derive(Default)]
struct Parts {
    all: Vec<Weak<dyn Reported>>,
    sweep_at: SweepAt,
}

impl Reporter {
    /// The reporter of a keel. On Redis it reports in the background, unless it is switched off.
    pub(crate) fn start(link: Option<&Link>, clock: &Clock, is_on: bool) -> Arc<Self> {
        let backend = match link {
            None => ProcessBackend::memory(clock.clone()),
            Some(link) => ProcessBackend::redis(link.clone()),
        };
        let reporter = Arc::new(Self::over(backend, link.cloned(), clock.clone(), is_on));
        if reporter.link.is_some() && is_on {
            let (weak, clock) = (Arc::downgrade(&reporter), clock.clone());
            let run =
                Background::spawn("process report", clock.clone(), move || keep_reporting(weak.clone(), clock.clone()));
            // It was created above, so it has none yet.
            let _ = reporter.running.set(run);
        }
        reporter
    }

    /// A reporter of another process on the same embedded store.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self, is_on: bool) -> Arc<Self> {
        Arc::new(Self::over(self.backend.clone(), self.link.clone(), self.clock.clone(), is_on))
    }

    fn over(backend: ProcessBackend, link: Option<Link>, clock: Clock, is_on: bool) -> Self {
        let host = host::name();
        Self {
            id: host::new_id(&host),
            host,
            started_ms: link.as_ref().map_or_else(|| clock.unix_ms(), Link::server_now_ms),
            backend,
            namespace: Namespace::new(link.as_ref().map_or("evenkeel", Link::prefix)),
            link,
            clock,
            is_on,
            parts: Mutex::default(),
            metrics: ReporterMetrics::register(),
            has_reported: AtomicBool::new(false),
            has_logged: AtomicBool::new(false),
            running: OnceLock::new(),
            sweep_at_ms: AtomicU64::new(0),
        }
    }

    /// Adds a part of the process to its reports, as long as the part exists.
    #[cfg_attr(
        not(any(feature = "cache", feature = "queue", feature = "lock", feature = "stream", feature = "sql")),
        expect(dead_code, reason = "without capabilities there is nothing to add")
    )]
    pub(crate) fn add<R: Reported + 'static>(&self, part: &Arc<R>) {
        let part: Weak<R> = Arc::downgrade(part);
        let mut parts = self.parts.lock();
        let Parts { all, sweep_at } = &mut *parts;
        if sweep_at.is_due(all.len()) {
            all.retain(|part| part.strong_count() > 0);
            sweep_at.swept(all.len());
        }
        all.push(part);
    }

    /// The processes on this store.
    pub(crate) async fn processes(&self) -> Result<Processes, LinkError> {
        if self.link.is_none() && self.is_on {
            self.report_once().await?;
        }
        let processes = self.backend.run(&self.namespace, &ReadProcesses).await?;
        self.metrics.ignored.increment(processes.ignored);
        Ok(processes)
    }

    /// Removes the report of this process, which ends.
    pub(crate) async fn leave(&self) {
        let leave = Leave { id: self.id.clone() };
        if self.has_reported.load(Relaxed) && self.backend.run(&self.namespace, &leave).await.is_err() {
            tracing::debug!("the report of this process could not be removed; it expires in a minute");
        }
    }

    /// Reports now.
    pub(crate) async fn report_once(&self) -> Result<(), LinkError> {
        self.has_reported.store(true, Relaxed);
        let report = Report { id: self.id.clone(), text: self.describe().fitted() };
        let stored = self.backend.run(&self.namespace, &report).await;
        match &stored {
            Ok(true) => {
                self.metrics.success(self.clock.unix_ms());
                self.has_logged.store(false, Relaxed);
            }
            Ok(false) => {
                self.failed(&"another program's value is under the key of the list of processes (docs/keyspace.md)");
            }
            Err(error) => self.failed(error),
        }
        stored.map(|_| ())
    }

    /// Sweeps the libraries of functions, once an hour. Most of the time another process has done so.
    pub(crate) async fn sweep_libraries(&self) -> Result<(), LinkError> {
        let (Some(link), now_ms) = (&self.link, self.clock.unix_ms()) else { return Ok(()) };
        if self.sweep_at_ms.load(Relaxed) > now_ms {
            return Ok(());
        }
        let interval = libraries::INTERVAL.mul_f64(0.9 + rand::random::<f64>() / 5.0);
        self.sweep_at_ms.store(now_ms.saturating_add(u64::try_from(interval.as_millis()).unwrap_or(u64::MAX)), Relaxed);
        self.sweep_libraries_now(link).await
    }

    /// Sweeps them now.
    pub(crate) async fn sweep_libraries_now(&self, link: &Link) -> Result<(), LinkError> {
        libraries::sweep(link, &self.backend.run(&self.namespace, &ReadProcesses).await?).await
    }

    fn failed(&self, reason: &dyn std::fmt::Display) {
        self.metrics.failed.increment(1);
        if !self.has_logged.swap(true, Relaxed) {
            tracing::debug!(%reason, "this process could not report; the console shows its last report until it expires");
        }
    }

    fn describe(&self) -> ProcessReport {
        let now = self.clock.now();
        let mut report = ProcessReport::default();
        (report.host, report.pid, report.version) =
            (self.host.clone(), std::process::id(), env!("CARGO_PKG_VERSION").to_owned());
        report.started_ms = self.started_ms;
        report.libraries = self.link.as_ref().map(Link::libraries).unwrap_or_default();
        report.epoch = self.link.as_ref().and_then(Link::epoch).map(|epoch| epoch.number());
        let now_ms = self.link.as_ref().map_or_else(|| self.clock.unix_ms(), |link| link.server_ms_at(now));
        let mut draft = Draft { report, now, now_ms };
        // A part that is dropped meanwhile must not find the list locked.
        let parts: Vec<_> = self.parts.lock().all.iter().filter_map(Weak::upgrade).collect();
        for part in parts {
            part.add_to(&mut draft);
        }
        draft.report
    }
}

/// Reports until the reporter is dropped.
async fn keep_reporting(reporter: Weak<Reporter>, clock: Clock) {
    loop {
        // Spread, so that a fleet that was started at once does not report at once.
        clock.sleep(INTERVAL.mul_f64(0.9 + rand::random::<f64>() / 10.0)).await;
        let Some(reporter) = reporter.upgrade() else { return };
        // A failure is counted. While the link is down it fails at once.
        let _ = reporter.report_once().await;
        if let Err(error) = reporter.sweep_libraries().await {
            tracing::debug!(%error, "the libraries of Redis functions were not swept; the next sweep follows in an hour");
        }
    }
}
