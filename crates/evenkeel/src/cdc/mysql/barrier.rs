//! Whether loaders already see what the log has.
//!
//! A log has a commit before the tables show it: while the server waits for a semi-synchronous replica, for minutes. A transaction with a
//! consistent snapshot knows up to which place of the log it sees.

use super::connect::{connect, failed};
use super::place::{Place, number};
use super::preflight::one;
use crate::cdc::source::{Barrier, Position, SourceError};
use evenkeel_link::support::guard;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts};

/// A connection to the server that loaders read.
pub(super) struct Primary {
    options: Opts,
    conn: Option<Conn>,
}

impl Primary {
    pub(super) fn new(options: Opts) -> Self {
        Self { options, conn: None }
    }

    /// Whether a statement that begins now sees the groups up to `position`, of the log of the server with this id.
    pub(super) async fn ask(&mut self, server_id: u32, position: &Position) -> Result<Barrier, SourceError> {
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => {
                let mut conn = connect(&self.options).await?;
                let (id, read_only): (u32, bool) =
                    one(&mut conn, "SELECT @@GLOBAL.server_id, @@GLOBAL.read_only").await?;
                if id != server_id {
                    let why = format!("the loaders' primary is server {id}, the log is that of server {server_id}");
                    return Ok(Barrier::Unknown(why));
                }
                if read_only {
                    return Ok(Barrier::Unknown(format!(
                        "server {id} is read-only, so it is not the loaders' primary"
                    )));
                }
                conn
            }
        };
        let seen = snapshot(&mut conn).await?;
        self.conn = Some(conn);
        Ok(match seen {
            None => Barrier::Unknown("the server names no place of the log for a snapshot".to_owned()),
            Some(seen) if seen.order() >= position.order || !guard("binlog_snapshot") => Barrier::Visible,
            Some(_) => Barrier::NotYet,
        })
    }
}

/// How far a transaction that begins now sees.
async fn snapshot(conn: &mut Conn) -> Result<Option<Place>, SourceError> {
    conn.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").await.map_err(failed)?;
    let status: Vec<(String, String)> =
        conn.query("SHOW SESSION STATUS LIKE 'binlog_snapshot_%'").await.map_err(failed)?;
    conn.query_drop("ROLLBACK").await.map_err(failed)?;
    let find = |name: &str| status.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone());
    let file = find("binlog_snapshot_file").filter(|file| number(file).is_some());
    let offset = find("binlog_snapshot_position").and_then(|offset| offset.parse().ok());
    Ok(file.zip(offset).map(|(file, offset)| Place { file, offset }))
}
