//! Blocks of numbers in `evenkeel_sequences`. The only file of this folder that has SQL.

use crate::sql::database::{Pool, Row, Statement, Value};
use crate::sql::{SqlError, Transaction};
use evenkeel_protocol::id::error::IdError;
use sqlx::SqlSafeStr as _;

/// The table in one database.
pub(super) struct Table(pub(super) Pool);

/// Values: how many, name.
static ADVANCE: Statement = Statement::new("UPDATE evenkeel_sequences SET next_value = next_value + ? WHERE name = ?");
static READ: Statement = Statement::new("SELECT next_value FROM evenkeel_sequences WHERE name = ?");
static CREATE: Statement = Statement::new("{insert} evenkeel_sequences (name, next_value) VALUES (?, 1) {or ignore}");
/// Values: to, name, to.
static JUMP: Statement =
    Statement::new("UPDATE evenkeel_sequences SET next_value = ? WHERE name = ? AND next_value < ?");

impl Table {
    /// Takes the next `count` numbers, in a transaction of its own; returns the first number after them.
    pub(super) async fn take(&self, name: &str, count: u64) -> Result<u64, IdError> {
        loop {
            if let Some(until) = self.advance(name, count).await.map_err(SqlError::from)? {
                return Ok(until);
            }
            CREATE.run(&self.0, &[Value::Text(name)]).await?;
        }
    }

    /// Lets the next block begin at `to`, if it would begin earlier.
    pub(super) async fn jump(&self, name: &str, to: u64) -> Result<(), IdError> {
        JUMP.run(&self.0, &[Value::count(to), Value::Text(name), Value::count(to)]).await?;
        Ok(())
    }

    /// `None`: there is no row yet. In a transaction that has nothing else: an import would hold the row of the sequence until its end.
    async fn advance(&self, name: &str, count: u64) -> Result<Option<u64>, sqlx::Error> {
        let mut transaction = Transaction::begin(&self.0, self.0.dialect().begin.into_sql_str()).await?;
        if ADVANCE.execute(&mut *transaction, &[Value::count(count), Value::Text(name)]).await? == 0 {
            return Ok(None);
        }
        let row = Row::first(&mut *transaction, &READ, &[Value::Text(name)]).await?;
        let until = row.map(|row| row.count(0)).transpose()?;
        transaction.commit().await?;
        Ok(until)
    }
}
