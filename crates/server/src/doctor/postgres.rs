//! The checks of a PostgreSQL server.

use super::report::Server;
use super::{connect, schema, texts};
use crate::address::Address;
use evenkeel::sql::SqlError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection, Row};
use std::str::FromStr;

/// Every setting that the checks use, read as text.
const SETTINGS: [&str; 11] = [
    "current_setting('server_version')",
    "current_setting('server_version_num')::int >= 140000",
    "current_database()",
    "pg_is_in_recovery()",
    "current_setting('default_transaction_read_only')",
    "current_setting('default_transaction_isolation')",
    "current_setting('server_encoding')",
    "current_setting('fsync')",
    "current_setting('synchronous_commit')",
    "current_setting('wal_level')",
    "current_setting('TimeZone')",
];

/// What this role lacks: to create the tables as long as there are none, and to use them.
const MISSING: &str = r"SELECT 'USAGE ON SCHEMA public' AS missing WHERE current_schema() IS NULL
    UNION ALL SELECT 'CREATE ON SCHEMA ' || current_schema()
        WHERE to_regclass('evenkeel_migrations') IS NULL AND NOT has_schema_privilege(current_schema(), 'CREATE')
    UNION ALL SELECT string_agg(needed, ', ') || ' ON ' || relname
        FROM pg_class CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
        WHERE relnamespace = to_regnamespace(current_schema()::text) AND relkind IN ('r', 'p')
            AND relname LIKE 'evenkeel\_%' AND NOT has_table_privilege(pg_class.oid, needed)
        GROUP BY relname";

pub(super) async fn examine(address: &Address, server: &mut Server) {
    let Some(mut connection) = connect::<PgConnectOptions>(address, server).await else { return };
    if is_pooled(address, &mut connection).await {
        let remedy = "connect to PostgreSQL itself, or to a pooler in session mode: notifications, advisory locks and prepared statements \
                      belong to a session";
        return server.fail("session", "two connections have the same session: a pooler in transaction mode", remedy);
    }
    let query = format!("SELECT {}", SETTINGS.map(|setting| format!("({setting})::text")).join(", "));
    let row = match sqlx::query(AssertSqlSafe(query)).fetch_one(&mut connection).await {
        Ok(row) => row,
        Err(error) => {
            return server.fail(
                "settings",
                SqlError::from(error).to_string(),
                "allow this role to read server settings",
            );
        }
    };
    let values = texts(&row, SETTINGS, server);
    let [number, enough, name, standby, read_only, isolation, encoding, fsync, commit, level, zone] = &values;
    if let (Some(number), Some(enough)) = (number, enough) {
        let version = number.split(' ').next().unwrap_or(number);
        server.require(enough == "true", "version", format!("PostgreSQL {version}"), "use PostgreSQL 14 or later");
    }
    if let Some(name) = name {
        server.ok("database", name);
    }
    if let (Some(standby), Some(read_only)) = (standby, read_only) {
        writable(server, standby == "true", read_only == "off");
    }
    // Every level is sufficient: PostgreSQL treats READ UNCOMMITTED as READ COMMITTED.
    if let Some(isolation) = isolation {
        server.ok("isolation", isolation);
    }
    if let Some(encoding) = encoding {
        let remedy = "create the database with ENCODING 'UTF8': other encodings reject or lose characters";
        server.advise(encoding == "UTF8", "encoding", encoding, remedy);
    }
    if let (Some(fsync), Some(commit)) = (fsync, commit) {
        let remedy = "set fsync=on and synchronous_commit=on: otherwise a crash may lose committed transactions";
        let is_durable = fsync == "on" && commit != "off";
        server.advise(is_durable, "durability", format!("fsync={fsync}, synchronous_commit={commit}"), remedy);
    }
    if let Some(level) = level {
        server.ok("WAL level", format!("wal_level={level} (only change data capture needs logical)"));
    }
    if let Some(zone) = zone {
        server.ok("time zone", zone);
    }
    permissions(server, &mut connection).await;
    schema(address, server).await;
}

fn writable(server: &mut Server, is_standby: bool, writes_by_default: bool) {
    let writable = !is_standby && writes_by_default;
    let (found, remedy) = match (is_standby, writable) {
        (true, _) => ("a standby", "use the primary's address"),
        (false, true) => ("yes", ""),
        (false, false) => (
            "default_transaction_read_only is on",
            "set it to off, where it is set: in the address, for this role (ALTER ROLE), the database (ALTER DATABASE) or the server",
        ),
    };
    server.require(writable, "writable", found, remedy);
}

/// Whether a second connection gets the session of the first: a pooler lends it to each transaction.
async fn is_pooled(address: &Address, first: &mut PgConnection) -> bool {
    let session = async |connection: &mut PgConnection| {
        // A simple query: such a pooler may confuse prepared statements.
        let row = sqlx::raw_sql("SELECT pg_backend_pid()").fetch_one(connection).await?;
        row.try_get::<i32, _>(0)
    };
    let Ok(options) = PgConnectOptions::from_str(&address.url) else { return false };
    let Ok(mut second) = options.connect().await else { return false };
    matches!((session(first).await, session(&mut second).await), (Ok(first), Ok(second)) if first == second)
}

async fn permissions(server: &mut Server, connection: &mut PgConnection) {
    let missing: Vec<String> = match sqlx::query_scalar(MISSING).fetch_all(connection).await {
        Ok(missing) => missing,
        Err(error) => {
            return server.fail("permissions", SqlError::from(error).to_string(), "allow this role to read pg_class");
        }
    };
    let found = if missing.is_empty() { "may use the tables, or create them" } else { "some are missing" };
    let remedy = format!("GRANT to this role: {}", missing.join("; "));
    server.require(missing.is_empty(), "permissions", found, &remedy);
}
