//! What the server must have set, and what to do if it has not.

use super::connect::failed;
use crate::cdc::source::{SourceError, Table};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;

fn refused(what: impl Into<String>, remedy: impl Into<String>) -> SourceError {
    SourceError::Refused { what: what.into(), remedy: remedy.into() }
}

/// Checks everything, and returns the `server_id` of the server. It changes nothing and takes no lock.
///
/// # Errors
/// [`SourceError::Refused`] for the first thing that is missing.
pub(super) async fn check(conn: &mut Conn, ours: u32, tables: &[Table]) -> Result<u32, SourceError> {
    let (version, server_id): (String, u32) = one(conn, "SELECT VERSION(), @@GLOBAL.server_id").await?;
    if !version.contains("MariaDB") {
        let what = format!("the server is MySQL {version}, whose log is not read yet");
        return Err(refused(what, "Use a MariaDB server, or a polling source"));
    }
    settings(conn).await?;
    if server_id == ours || ours == 0 {
        let what = format!("the source registers as server {ours}, and the server's own server_id is {server_id}");
        return Err(refused(
            what,
            format!("Give the source another server id, such as {}", server_id.wrapping_add(1_000)),
        ));
    }
    privileges(conn).await?;
    filters(conn, tables).await?;
    for table in tables {
        exists(conn, table).await?;
        cascades(conn, table, tables).await?;
    }
    Ok(server_id)
}

async fn settings(conn: &mut Conn) -> Result<(), SourceError> {
    let (enabled,): (bool,) = one(conn, "SELECT @@GLOBAL.log_bin").await?;
    if !enabled {
        let remedy = "Write `log_bin = bin` below [mariadbd] of the server's configuration and restart the server";
        return Err(refused("log_bin is OFF: the server writes no log of changes", remedy));
    }
    for (name, wanted) in [("binlog_format", "ROW"), ("binlog_row_image", "FULL"), ("binlog_row_metadata", "FULL")] {
        let (value,): (String,) = one(conn, &format!("SELECT @@GLOBAL.{name}")).await?;
        if value != wanted {
            let what = format!("{name} is {value}, and the source needs {wanted}");
            return Err(refused(what, format!("SET GLOBAL {name} = '{wanted}'")));
        }
    }
    Ok(())
}

/// What may be granted under two names. The grants of a role are not listed, so with a role the server decides, when the log is read.
async fn privileges(conn: &mut Conn) -> Result<(), SourceError> {
    let (user,): (String,) = one(conn, "SELECT CURRENT_USER()").await?;
    let grants: Vec<String> = conn.query("SHOW GRANTS").await.map_err(failed)?;
    let upper = grants.iter().map(|grant| grant.to_ascii_uppercase()).collect::<Vec<_>>();
    let global = upper.iter().filter_map(|grant| grant.strip_prefix("GRANT ")?.split_once(" ON *.*"));
    let names = global.flat_map(|(names, _)| names.split(',').map(str::trim)).collect::<Vec<_>>();
    // `GRANT role TO user` has no ON.
    let role = upper.iter().any(|grant| !grant.contains(" ON "));
    for (one, other) in [("REPLICATION SLAVE", "REPLICATION REPLICA"), ("BINLOG MONITOR", "REPLICATION CLIENT")] {
        let granted = names.iter().any(|name| [one, other, "ALL PRIVILEGES", "ALL"].contains(name));
        if !granted && !role {
            let (name, host) = user.rsplit_once('@').unwrap_or((&user, "%"));
            let remedy = format!("GRANT {one} ON *.* TO {}@{}", quoted(name), quoted(host));
            return Err(refused(format!("the user {user} lacks {one}"), remedy));
        }
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Databases that the log leaves out.
async fn filters(conn: &mut Conn, tables: &[Table]) -> Result<(), SourceError> {
    let status: Option<(String, u64, String, String)> = conn.query_first("SHOW MASTER STATUS").await.map_err(failed)?;
    let (_, _, only, without) = status.unwrap_or_default();
    let names = |list: &str, schema: &str| list.split(',').any(|name| name == schema);
    for table in tables {
        for (list, name, left_out) in [
            (&only, "binlog_do_db", !only.is_empty() && !names(&only, &table.schema)),
            (&without, "binlog_ignore_db", names(&without, &table.schema)),
        ] {
            if left_out {
                let what = format!("{name} is {list}: changes of {table} are not logged");
                let remedy = format!("Remove {name} from the server's configuration and restart the server");
                return Err(refused(what, remedy));
            }
        }
    }
    Ok(())
}

async fn exists(conn: &mut Conn, table: &Table) -> Result<(), SourceError> {
    let sql = "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?";
    let kind: Option<String> = conn.exec_first(sql, (&*table.schema, &*table.name)).await.map_err(failed)?;
    match kind.as_deref() {
        Some("BASE TABLE" | "SYSTEM VERSIONED") => Ok(()),
        Some(kind) => Err(refused(format!("{table} is a {kind}"), "Name the tables that it selects from")),
        None => {
            let remedy = "Create it, grant SELECT on it to the user of the source, or remove its rule";
            Err(refused(format!("{table} does not exist, or the user may not see it"), remedy))
        }
    }
}

/// Rows of the table that InnoDB changes with those of another one, without logging them. Foreign keys that the user may not see are not
/// found.
async fn cascades(conn: &mut Conn, table: &Table, tables: &[Table]) -> Result<(), SourceError> {
    let sql = "SELECT CONSTRAINT_NAME, UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME \
         FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ? \
         AND (DELETE_RULE IN ('CASCADE', 'SET NULL') OR UPDATE_RULE IN ('CASCADE', 'SET NULL'))";
    let names = (&*table.schema, &*table.name);
    let keys: Vec<(String, String, String)> = conn.exec(sql, names).await.map_err(failed)?;
    for (key, schema, name) in keys {
        let parent = Table { schema: schema.into(), name: name.into() };
        if !tables.contains(&parent) {
            let what =
                format!("rows of {table} change with those of {parent} (foreign key {key}), and the log omits them");
            let remedy = format!("Give the source {parent} as well, with a rule for what depends on its rows");
            return Err(refused(what, remedy));
        }
    }
    Ok(())
}

/// The only row of a statement.
pub(super) async fn one<T>(conn: &mut Conn, sql: &str) -> Result<T, SourceError>
where
    T: mysql_async::prelude::FromRow + Send + 'static,
{
    let row = conn.query_first(sql).await.map_err(failed)?;
    row.ok_or_else(|| SourceError::Unavailable(format!("no row: {sql}")))
}
