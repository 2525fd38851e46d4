//! [`SettingTransaction`]: a transaction on a connection with a setting of its own.

use crate::sql::SqlError;
use crate::sql::database::Database;
use sqlx::Transaction;
use tokio::runtime::Handle;

/// A transaction that resets a setting of its connection when it ends, so that the connection returns to its pool unchanged.
pub(crate) struct SettingTransaction<DB: Database> {
    /// `None` once the transaction has ended.
    transaction: Option<Transaction<'static, DB>>,
    /// The statement that resets the setting; `None` if it ends with the transaction.
    reset: Option<&'static str>,
}

impl<DB: Database> SettingTransaction<DB> {
    pub(crate) fn new(transaction: Transaction<'static, DB>, reset: Option<&'static str>) -> Self {
        Self { transaction: Some(transaction), reset }
    }

    pub(crate) fn tx(&mut self) -> Result<&mut DB::Connection, SqlError> {
        self.transaction.as_deref_mut().ok_or(SqlError::Lost)
    }

    /// Resets the setting, and takes the transaction.
    pub(crate) async fn end(mut self) -> Result<Transaction<'static, DB>, SqlError> {
        if let Some(reset) = self.reset {
            DB::script(self.tx()?, reset).await?;
        }
        self.transaction.take().ok_or(SqlError::Lost)
    }
}

impl<DB: Database> Drop for SettingTransaction<DB> {
    fn drop(&mut self) {
        // Without a runtime, the pool cannot take its connection back either.
        if let Some(mut transaction) = self.transaction.take()
            && let Some(reset) = self.reset
            && let Ok(runtime) = Handle::try_current()
        {
            evenkeel_link::support::spawn_on(&runtime, async move {
                if let Err(error) = DB::script(&mut transaction, reset).await {
                    tracing::debug!(%error, statement = reset, "a setting of a connection could not be reset");
                }
                drop(transaction);
            });
        }
    }
}
