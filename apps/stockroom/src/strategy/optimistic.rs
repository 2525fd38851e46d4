//! `optimistic`: read, compute, and write if the version is unchanged (compare-and-set). Costs nothing without contention, and an
//! attempt for every conflict.

use super::attempt::Attempt;
use super::retry::{AttemptError, Committed};
use crate::store::database::Dialect;
use crate::store::reader;
use crate::store::tables::stocks;

pub(super) async fn attempt<DB: Dialect>(of: &Attempt<'_, DB>) -> Result<Committed, AttemptError> {
    // Reads outside of a transaction, so that a rejected change needs none.
    let read = stocks::read::<DB>(&mut *reader(of.pools).await?, of.change.commodity).await?;
    let stock = of.single_row(read)?;
    of.changed(stock)?;
    let mut transaction = of.pools.begin().await?;
    let Some(committed) = of.write(&mut transaction, stock).await? else {
        return Err(AttemptError::stale());
    };
    transaction.commit().await.map_err(AttemptError::of_commit)?;
    Ok(committed)
}
