//! Many changes at once by every strategy, with faults, and what became of the rule.
//!
//! [`slice`](mod@slice) says which changes, [`drive`] makes them from many tasks, [`here`] does so in this process and [`workers`] in several
//! which it pauses and kills: [`worker`] is one of them from outside, [`work()`] what it does. [`Row`] is what is told of one strategy.

mod drive;
mod faults;
mod here;
mod row;
mod slice;
mod tally;
mod work;
mod worker;
mod workers;

pub use here::Here;
pub use row::{Row, table};
pub use slice::{Load, Slice};
pub use work::work;
pub use workers::{Addresses, Servers};

use crate::domain::Strategy;
use crate::service::Service;
use anyhow::Result;
use std::time::Instant;
use tally::Tally;

/// What a load runs on.
pub enum Ground {
    /// This process and a file.
    Here(Here),
    /// Servers, and processes that share them.
    Servers(Servers),
}

impl Ground {
    /// Runs one strategy's share and audits what became of its products. `done` is told how many operations have ended since.
    ///
    /// # Errors
    /// One sentence: a server cannot be reached, or a worker ended by itself.
    pub async fn run(&self, load: &Load, strategy: Strategy, done: &mut (dyn FnMut(u64) + Send)) -> Result<Row> {
        let began = Instant::now();
        let (tally, products) = match self {
            Self::Here(here) => here.run(load, strategy, done).await?,
            Self::Servers(servers) => servers.run(load, strategy, done).await?,
        };
        let took = began.elapsed();
        let mut row = Row::new(strategy, &tally, took);
        for product in &products {
            row.add(&self.service().audit(product).await?);
        }
        Ok(row)
    }

    /// Closes what is open.
    pub async fn close(self) {
        match self {
            Self::Here(here) => here.close().await,
            Self::Servers(servers) => servers.close().await,
        }
    }

    /// Whether there is what a strategy needs.
    #[must_use]
    pub fn offers(&self, strategy: Strategy) -> bool {
        self.service().offers(strategy)
    }

    fn service(&self) -> &Service {
        match self {
            Self::Here(here) => here.service(),
            Self::Servers(servers) => servers.service(),
        }
    }
}

/// What one operation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Outcome {
    /// The stock was changed.
    Done,
    /// The rule forbade it, as it should.
    Refused,
    /// Others were faster again and again, or the lock was not given.
    GaveUp,
    /// The task was cancelled; what had happened by then, nobody asked.
    Cancelled,
    /// The database or Redis did not do it.
    Failed,
}

/// One operation that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) micros: u64,
    pub(crate) conflicts: u32,
    pub(crate) interferences: u32,
}
