//! [`SettingTransaction`]: a transaction on a connection with a setting of its own.

use crate::sql::SqlError;
use crate::sql::database::{Connection, Pool};
use crate::sql::transaction::Transaction;
use evenkeel_link::Token;
use futures_util::future::BoxFuture;
use sqlx::SqlSafeStr;
use tokio::runtime::Handle;

/// A transaction that resets a setting of its connection when it ends, so that the connection returns to its pool unchanged.
pub(crate) struct SettingTransaction {
    /// `None` once the transaction has ended.
    transaction: Option<Transaction>,
    /// The marker of the transaction, which ends with it.
    mark: Token,
    /// The statement that resets the setting; `None` if it ends with the transaction.
    reset: Option<&'static str>,
}

impl SettingTransaction {
    /// Begins a transaction. `reset` resets the setting that the caller is about to change.
    pub(crate) async fn begin(pool: &Pool, reset: Option<&'static str>) -> Result<Self, sqlx::Error> {
        let mark = Token::random();
        let transaction = Transaction::begin_marked(pool, pool.dialect().begin.into_sql_str(), mark.as_bytes()).await?;
        Ok(Self { transaction: Some(transaction), mark, reset })
    }

    pub(crate) fn tx(&mut self) -> Result<&mut Connection, SqlError> {
        self.transaction.as_deref_mut().ok_or(SqlError::Lost)
    }

    /// Commits, if the transaction is still the one that began and all nested ones have ended. A database that has rolled it back replies
    /// to a commit as if there were nothing to commit.
    ///
    /// # Errors
    /// [`SqlError::Lost`], [`SqlError::OpenSavepoint`], [`SqlError::Database`]: not committed. [`SqlError::CommitUnknown`].
    pub(crate) fn commit(mut self) -> BoxFuture<'static, Result<(), SqlError>> {
        Box::pin(async move {
            let mark = self.mark;
            let transaction = self.transaction()?;
            transaction.check()?;
            if !transaction.is_marked(mark.as_bytes()).await? {
                return Err(SqlError::Lost);
            }
            self.end().await?.commit().await.map_err(SqlError::of_commit)
        })
    }

    pub(crate) fn rollback(self) -> BoxFuture<'static, Result<(), SqlError>> {
        Box::pin(async move { Ok(self.end().await?.rollback().await?) })
    }

    /// Resets the setting, and takes the transaction.
    async fn end(mut self) -> Result<Transaction, SqlError> {
        if let Some(reset) = self.reset {
            self.tx()?.script(reset).await?;
        }
        self.transaction.take().ok_or(SqlError::Lost)
    }

    fn transaction(&mut self) -> Result<&mut Transaction, SqlError> {
        self.transaction.as_mut().ok_or(SqlError::Lost)
    }
}

impl Drop for SettingTransaction {
    fn drop(&mut self) {
        // Without a runtime, the pool cannot take its connection back either.
        if let Some(mut transaction) = self.transaction.take()
            && let Some(reset) = self.reset
            && let Ok(runtime) = Handle::try_current()
        {
            evenkeel_link::support::spawn_on(&runtime, async move {
                if let Err(error) = transaction.script(reset).await {
                    tracing::debug!(%error, statement = reset, "a setting of a connection could not be reset; it is closed");
                    transaction.close_at_end();
                }
                drop(transaction);
            });
        }
    }
}
