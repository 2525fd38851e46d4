//! The load test: concurrent changes by every strategy with injected faults, and an audit of the result.
//!
//! [`share`](mod@share) generates the operations, [`run`](mod@run) executes them concurrently, [`in_process`] does so in this process and
//! [`processes`] in several, which it pauses and kills: [`worker`] is the handle of such a process, [`work()`] its main function.

mod faults;
mod in_process;
mod processes;
mod report;
mod run;
mod share;
mod tally;
mod work;
mod worker;

pub use in_process::InProcess;
pub use processes::{Processes, Urls};
pub use report::{Row, table};
pub use share::{Load, Share};
pub use tally::Counts;
pub use work::work;

use crate::domain::Strategy;
use crate::service::Service;
use anyhow::Result;
use std::time::Instant;
use tally::Tally;

/// Where a load runs.
pub enum Environment {
    /// In this process, on a file.
    InProcess(InProcess),
    /// In several processes, on servers.
    Processes(Processes),
}

impl Environment {
    /// Runs one strategy and audits its products. `progress` receives the number of operations that ended.
    ///
    /// # Errors
    /// A server is unreachable, or a worker process failed.
    pub async fn run(&self, load: &Load, strategy: Strategy, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Row> {
        let began = Instant::now();
        let (tally, products) = match self {
            Self::InProcess(process) => process.run(load, strategy, progress).await?,
            Self::Processes(processes) => processes.run(load, strategy, progress).await?,
        };
        let took = began.elapsed();
        let mut row = Row::new(strategy, &tally, took);
        for product in &products {
            row.add(&self.service().audit(product).await?);
        }
        Ok(row)
    }

    /// Closes all connections.
    pub async fn close(self) {
        self.service().close().await;
    }

    /// Whether a strategy can run.
    #[must_use]
    pub fn offers(&self, strategy: Strategy) -> bool {
        self.service().offers(strategy)
    }

    fn service(&self) -> &Service {
        match self {
            Self::InProcess(process) => process.service(),
            Self::Processes(processes) => processes.service(),
        }
    }
}

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum OperationResult {
    /// The stock was changed.
    Done,
    /// The rule forbade the change.
    Refused,
    /// Every attempt conflicted, or the lock was not acquired in time.
    GaveUp,
    /// The task was cancelled; the change may have been committed.
    Cancelled,
    /// The database or Redis failed.
    Failed,
}

/// An operation that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Ended {
    pub(crate) result: OperationResult,
    pub(crate) micros: u64,
    pub(crate) conflicts: u32,
    pub(crate) interferences: u32,
}
