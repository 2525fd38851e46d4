//! `pessimistic`: lock the row (`SELECT .. FOR UPDATE`), compute, write. Waiters wait in the database, each with a connection.

use super::attempt::Attempt;
use super::retry::{AttemptError, Committed};
use crate::store::database::Dialect;
use crate::store::tables::stocks;

pub(super) async fn attempt<DB: Dialect>(of: &Attempt<'_, DB>) -> Result<Committed, AttemptError> {
    // `None`: the server's own limit of lock waits.
    let mut transaction = of.context.keel().begin_locking(&of.pools.writer, None).await?;
    let connection = transaction.tx()?;
    let locked = stocks::lock::<DB>(connection, of.change.commodity).await?;
    let stock = of.single_row(locked)?;
    let Some(committed) = of.write(connection, stock).await? else {
        return Err(AttemptError::Interference);
    };
    transaction.commit().await?;
    Ok(committed)
}
