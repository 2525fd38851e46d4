//! Blocks of numbers in `evenkeel_sequences`. The only file of this folder that has SQL.

use crate::sql::PoolTransaction;
use crate::sql::{Database, Row, SqlError, Statement, Value};
use evenkeel_protocol::id::error::IdError;
use sqlx::Pool;
use std::future::Future;
use std::pin::Pin;

type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, IdError>> + Send + 'a>>;

/// The table, whatever the database.
pub(super) trait Table: Send + Sync {
    /// Takes the next `count` numbers, in a transaction of its own; returns the first number after them.
    fn take<'a>(&'a self, name: &'a str, count: u64) -> Asked<'a, u64>;

    /// Lets the next block begin at `to`, if it would begin earlier.
    fn jump<'a>(&'a self, name: &'a str, to: u64) -> Asked<'a, ()>;
}

/// The table in one database.
pub(super) struct InDatabase<DB: Database>(pub(super) Pool<DB>);

/// Values: how many, name.
static ADVANCE: Statement = Statement::new("UPDATE evenkeel_sequences SET next_value = next_value + ? WHERE name = ?");
static READ: Statement = Statement::new("SELECT next_value FROM evenkeel_sequences WHERE name = ?");
static CREATE: Statement = Statement::new("{insert} evenkeel_sequences (name, next_value) VALUES (?, 1) {or ignore}");
/// Values: to, name, to.
static JUMP: Statement =
    Statement::new("UPDATE evenkeel_sequences SET next_value = ? WHERE name = ? AND next_value < ?");

impl<DB: Database> Table for InDatabase<DB> {
    fn take<'a>(&'a self, name: &'a str, count: u64) -> Asked<'a, u64> {
        Box::pin(async move {
            loop {
                if let Some(until) = self.advance(name, count).await.map_err(SqlError::from)? {
                    return Ok(until);
                }
                CREATE.run(&self.0, &[Value::Text(name)]).await?;
            }
        })
    }

    fn jump<'a>(&'a self, name: &'a str, to: u64) -> Asked<'a, ()> {
        Box::pin(async move {
            JUMP.run(&self.0, &[Value::count(to), Value::Text(name), Value::count(to)]).await?;
            Ok(())
        })
    }
}

impl<DB: Database> InDatabase<DB> {
    /// `None`: there is no row yet. In a transaction that has nothing else: an import would hold the row of the sequence until its end.
    async fn advance(&self, name: &str, count: u64) -> Result<Option<u64>, sqlx::Error> {
        let mut transaction = PoolTransaction::begin(&self.0, DB::BEGIN).await?;
        let values = [Value::count(count), Value::Text(name)];
        if DB::execute(&mut transaction, ADVANCE.text::<DB>(), &values).await? == 0 {
            return Ok(None);
        }
        let row = Row::<DB>::first(&mut transaction, &READ, &[Value::Text(name)]).await?;
        let until = row.map(|row| row.count(0)).transpose()?;
        transaction.commit().await?;
        Ok(until)
    }
}
