//! `conditional-update`: one `UPDATE` whose `WHERE` clause contains the rule. The database computes the new quantity, so nothing that
//! was read can be stale. Works only if one statement can express the rule.

use super::attempt::Attempt;
use super::retry::{AttemptError, Committed};
use crate::store::database::Dialect;
use crate::store::tables::stocks;

pub(super) async fn attempt<DB: Dialect>(of: &Attempt<'_, DB>) -> Result<Committed, AttemptError> {
    let mut transaction = of.pools.begin().await?;
    let is_changed = stocks::change::<DB>(&mut transaction, of.change, of.context.cap).await?;
    let read = stocks::read::<DB>(&mut transaction, of.change.commodity).await?;
    let stock = stocks::present(read, of.change.commodity)?;
    if !is_changed {
        if stock.is_split {
            return Err(AttemptError::IsSplit);
        }
        // Returns the rejection, unless another change has made room since the UPDATE.
        of.changed(stock)?;
        return Err(AttemptError::stale());
    }
    let committed = of.record(&mut transaction, stock).await?;
    transaction.commit().await.map_err(AttemptError::of_commit)?;
    Ok(committed)
}
