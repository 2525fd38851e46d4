//! [`Destination`]: where an import goes.

use super::remote::Remote;
use super::row::TransferRow;
use crate::service::{Consistency, Service};
use crate::store::{Checkpoint, ImportLog, ImportRow, RowOutcome};
use anyhow::{Context, Result};
use std::io;

/// Where an import goes.
pub enum Destination {
    /// Into a database, with the cache before it told.
    Service(Service),
    /// To a running service. It keeps no checkpoints: a repeated import is read again from the beginning, and adds nothing twice.
    Server(Box<Remote>),
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A new link.
    Created,
    /// It was there already.
    Present,
    /// It cannot be a link, for this reason.
    Rejected(String),
}

impl Answer {
    /// Of a row whose code leads elsewhere.
    pub(super) fn taken(code: &str) -> Self {
        Self::Rejected(format!("the code {code} leads elsewhere already"))
    }
}

/// Told what became of a batch's rows, before they commit where that is possible; answers the checkpoint to commit with them.
pub(super) type Log<'l> = &'l mut (dyn FnMut(&[Answer]) -> io::Result<Checkpoint> + Send);

impl Destination {
    /// Where an interrupted import of `source` stood.
    pub(super) async fn checkpoint(&self, source: &str) -> Result<Option<Checkpoint>> {
        match self {
            Self::Service(service) => {
                service.store().checkpoint(source).await.context("cannot read where an earlier import stopped")
            }
            Self::Server(_) => Ok(None),
        }
    }

    /// The import of `source` is complete.
    pub(super) async fn forget(&self, source: &str) -> Result<()> {
        match self {
            Self::Service(service) => Ok(service.store().forget_checkpoint(source).await?),
            Self::Server(_) => Ok(()),
        }
    }

    /// Takes the rows of one batch.
    pub(super) async fn take(&mut self, rows: Vec<TransferRow>, log: Log<'_>) -> Result<Consistency> {
        match self {
            Self::Service(service) => {
                let checked: Vec<_> = rows.iter().map(|row| row.check(service.rules(), None)).collect();
                let good: Vec<ImportRow> = checked.iter().filter_map(|row| row.as_ref().ok().cloned()).collect();
                let mut log = Merged { checked: &checked, log };
                Ok(service.import_logged(&good, &mut log).await?.consistency)
            }
            Self::Server(remote) => {
                let answers = Box::pin(remote.import(rows)).await?;
                log(&answers)?;
                Ok(Consistency::Consistent)
            }
        }
    }
}

/// Puts the store's outcomes among the rows that never reached it.
struct Merged<'a> {
    checked: &'a [Result<ImportRow, String>],
    log: Log<'a>,
}

impl ImportLog for Merged<'_> {
    fn keep(&mut self, outcomes: &[RowOutcome]) -> io::Result<Checkpoint> {
        let mut outcomes = outcomes.iter();
        let answers: Vec<Answer> = self
            .checked
            .iter()
            .map(|row| match row {
                Err(why) => Answer::Rejected(why.clone()),
                Ok(_) => match outcomes.next() {
                    Some(RowOutcome::Created(_)) => Answer::Created,
                    Some(RowOutcome::Taken(code)) => Answer::taken(code.as_str()),
                    Some(RowOutcome::Present) | None => Answer::Present,
                },
            })
            .collect();
        (self.log)(&answers)
    }
}
