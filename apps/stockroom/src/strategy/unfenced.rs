//! `unfenced`, a demonstration of a lost update: a lock whose fencing token is not checked.
//!
//! It reads outside of a transaction and writes the result without a version check, as a program does that relies on a distributed lock
//! alone. If a holder is paused for longer than its lease, it overwrites the change of the next holder.

use super::attempt::Attempt;
use super::pauses::PausePoint;
use super::retry::{AttemptError, ChangeError, Committed};
use crate::store::database::Dialect;
use crate::store::reader;
use crate::store::tables::stocks;

pub(super) async fn attempt<DB: Dialect>(of: &Attempt<'_, DB>) -> Result<Committed, AttemptError> {
    let lock = of.context.unfenced(of.change.commodity);
    let guard = lock.acquire().await.map_err(|error| AttemptError::Final(ChangeError::Lock(error)))?;
    let read = stocks::read::<DB>(&mut *reader(of.pools).await?, of.change.commodity).await?;
    let stock = of.single_row(read)?;
    let after = of.changed(stock)?;
    of.context.pauses.at(PausePoint::StockRead).await;
    let mut transaction = of.pools.begin().await?;
    stocks::overwrite::<DB>(&mut transaction, of.change.commodity, after).await?;
    let committed = of.record(&mut transaction, after).await?;
    transaction.commit().await.map_err(AttemptError::of_commit)?;
    drop(guard);
    Ok(committed)
}
