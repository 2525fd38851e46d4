//! [`ImportDestination`]: the destination of an import.

use super::remote::Remote;
use super::row::TransferRow;
use crate::domain::TargetRules;
use crate::http::api::bulk::ImportOutcome;
use crate::service::{Consistency, Service};
use crate::store::{Checkpoint, ImportRow, RowOutcome};
use anyhow::{Context, Result};
use std::io;

/// The destination of an import.
pub enum ImportDestination {
    /// A database, whose caches are invalidated.
    Service(Service),
    /// A running service. It stores no checkpoints: an interrupted import starts again, and adds no row twice.
    Server(Box<Remote>),
}

/// Receives the outcomes of a batch, before its commit where possible, and returns the checkpoint to commit with it.
pub(super) type Log<'l> = &'l mut (dyn FnMut(&[ImportOutcome]) -> io::Result<Checkpoint> + Send);

impl ImportDestination {
    /// The checkpoint of an interrupted import of `source`.
    pub(super) async fn checkpoint(&self, source: &str) -> Result<Option<Checkpoint>> {
        match self {
            Self::Service(service) => {
                service.store().checkpoint(source).await.context("cannot read the checkpoint of an earlier import")
            }
            Self::Server(_) => Ok(None),
        }
    }

    /// Deletes the checkpoint of `source`.
    pub(super) async fn forget(&self, source: &str) -> Result<()> {
        match self {
            Self::Service(service) => Ok(service.store().delete_checkpoint(source).await?),
            Self::Server(_) => Ok(()),
        }
    }

    /// Imports one batch.
    pub(super) async fn take(&mut self, rows: Vec<TransferRow>, log: Log<'_>) -> Result<Consistency> {
        match self {
            Self::Service(service) => {
                let checked: Vec<_> = rows.iter().map(|row| row.check(service.rules(), None)).collect();
                let good: Vec<ImportRow> = checked.iter().filter_map(|row| row.as_ref().ok().cloned()).collect();
                let mut log = |written: &[RowOutcome]| log(&ImportOutcome::of_rows(&checked, written));
                Ok(service.import_logged(&good, &mut log).await?.consistency)
            }
            Self::Server(remote) => {
                // A row that no service accepts is not sent: it could be larger than a request.
                let rules = TargetRules::default();
                let checked: Vec<_> = rows.iter().map(|row| row.check(&rules, None).map(drop)).collect();
                let good = rows.into_iter().zip(&checked).filter(|(_, checked)| checked.is_ok()).map(|(row, _)| row);
                let mut answers = Box::pin(remote.import(good.collect())).await?.into_iter();
                let outcome = |checked: Result<(), String>| match checked {
                    Ok(()) => answers.next(),
                    Err(detail) => Some(ImportOutcome::Refused { detail }),
                };
                let outcomes: Option<Vec<_>> = checked.into_iter().map(outcome).collect();
                log(&outcomes.context("the service did not report the outcome of each row")?)?;
                Ok(Consistency::Consistent)
            }
        }
    }
}
