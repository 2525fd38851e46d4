//! The name of an outbox, which distinguishes its sequences from those of other outboxes.

use crate::sql::database::{Connection, Row, Statement, Value};
use evenkeel_link::Token;
use uuid::Uuid;

static READ: Statement = Statement::new("SELECT id FROM evenkeel_outbox_source WHERE one = 1");
static NAME: Statement = Statement::new("INSERT INTO evenkeel_outbox_source (one, id) VALUES (1, ?)");

/// Reads the name; the first call generates it.
pub(super) async fn of(connection: &mut Connection) -> Result<String, sqlx::Error> {
    if let Some(name) = read(connection).await? {
        return Ok(name);
    }
    let drawn = Token::random();
    // If another process has inserted a name meanwhile, that one is read.
    let named = NAME.execute(connection, &[Value::Bytes(drawn.as_bytes())]).await;
    match (read(connection).await?, named) {
        (Some(name), _) => Ok(name),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(sqlx::Error::RowNotFound),
    }
}

async fn read(connection: &mut Connection) -> Result<Option<String>, sqlx::Error> {
    let row = Row::first(connection, &READ, &[]).await?;
    let id = row.map(|row| row.id(0)).transpose()?.flatten();
    Ok(id.map(|id| Uuid::from_bytes(id).to_string()))
}
