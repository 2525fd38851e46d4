//! The checks of a MySQL or MariaDB server.

use super::report::Server;
use super::{connect, schema, texts};
use crate::address::Address;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{AssertSqlSafe, MySqlConnection};
use std::collections::BTreeSet;

/// Every variable that the checks use. Each exists in MySQL 8.0 and in MariaDB 10.6. Their types differ between versions, so all are read as
/// text.
const VARIABLES: [&str; 14] = [
    "VERSION()",
    "COALESCE(DATABASE(), '')",
    "@@global.read_only",
    "@@default_storage_engine",
    "@@global.sql_mode",
    "@@character_set_database",
    "@@global.innodb_flush_log_at_trx_commit",
    "@@global.log_bin",
    "@@global.binlog_format",
    "@@global.binlog_row_image",
    "@@global.time_zone",
    "@@session.time_zone",
    "@@session.sql_select_limit",
    "@@session.completion_type",
];

/// Statements that need a permission each. The server checks it before it finds that there is no such table.
const RIGHTS: [&str; 8] = [
    "SELECT 1 FROM evenkeel_doctor",
    "INSERT INTO evenkeel_doctor VALUES (1)",
    "UPDATE evenkeel_doctor SET id = 1",
    "DELETE FROM evenkeel_doctor",
    "CREATE TABLE evenkeel_doctor LIKE evenkeel_doctor_pattern",
    "ALTER TABLE evenkeel_doctor ADD COLUMN more INT",
    "CREATE INDEX evenkeel_doctor ON evenkeel_doctor (id)",
    "DROP TABLE evenkeel_doctor",
];

pub(super) async fn examine(address: &Address, server: &mut Server) {
    let Some(mut connection) = connect::<MySqlConnectOptions>(address, server).await else { return };
    let query = format!("SELECT {}", VARIABLES.map(|variable| format!("CAST({variable} AS CHAR)")).join(", "));
    let row = match sqlx::query(AssertSqlSafe(query)).fetch_one(&mut connection).await {
        Ok(row) => row,
        Err(error) => return server.fail("settings", error.to_string(), "allow this user to read server variables"),
    };
    let values = texts(&row, VARIABLES, server);
    let [
        number,
        name,
        read_only,
        engine,
        mode,
        encoding,
        flush,
        log,
        format,
        image,
        zone,
        of_session,
        select_limit,
        completion,
    ] = &values;
    if let Some(number) = number {
        version(server, number);
    }
    if let Some(name) = name {
        database(server, name);
    }
    if let Some(read_only) = read_only {
        writable(server, &mut connection, !is_on(read_only)).await;
    }
    strict_cluster(server, &mut connection).await;
    isolation(server, &mut connection).await;
    if let Some(engine) = engine {
        let remedy = "set default_storage_engine=InnoDB: other engines have no transactions";
        server.require(engine == "InnoDB", "engine", engine, remedy);
    }
    if let Some(mode) = mode {
        let strict = mode.contains("STRICT_TRANS_TABLES") || mode.contains("STRICT_ALL_TABLES");
        let found = if strict { "strict" } else { "not strict" };
        let remedy = "add STRICT_TRANS_TABLES to sql_mode: otherwise the server truncates values that do not fit";
        server.advise(strict, "sql mode", found, remedy);
        if mode.split(',').any(|mode| mode == "ORACLE") {
            let remedy = "remove ORACLE from sql_mode: BEGIN does not begin a transaction there";
            server.fail("oracle mode", "on", remedy);
        }
    }
    of_sessions(server, select_limit.as_deref(), completion.as_deref());
    if let Some(encoding) = encoding {
        let remedy = "create the database with CHARACTER SET utf8mb4: other character sets lose characters";
        server.advise(encoding == "utf8mb4", "encoding", encoding, remedy);
    }
    if let Some(flush) = flush {
        let remedy = "set innodb_flush_log_at_trx_commit=1: otherwise a crash may lose committed transactions";
        server.advise(flush == "1", "durability", format!("innodb_flush_log_at_trx_commit={flush}"), remedy);
    }
    if let (Some(log), Some(format), Some(image)) = (log, format, image) {
        binlog(server, is_on(log), format, image);
    }
    if let (Some(zone), Some(of_session)) = (zone, of_session) {
        server.ok("time zone", format!("server {zone}, session {of_session}"));
    }
    permissions(server, &mut connection).await;
    schema(address, server).await;
}

/// Settings of each session that change what statements do.
fn of_sessions(server: &mut Server, select_limit: Option<&str>, completion: Option<&str>) {
    if select_limit.and_then(|limit| limit.parse().ok()).is_some_and(|limit: u64| limit < u32::MAX.into()) {
        let remedy = "SET GLOBAL sql_select_limit = DEFAULT: the server withholds rows without an error";
        server.fail("select limit", "sql_select_limit is set", remedy);
    }
    if completion.is_some_and(|completion| completion != "NO_CHAIN") {
        let remedy =
            "SET GLOBAL completion_type = 'NO_CHAIN': each commit begins another transaction, or closes its connection";
        server.fail("completion type", "completion_type is not NO_CHAIN", remedy);
    }
}

/// Whether a variable is on: a number in some versions, a word in others. `read_only` has further words, each of which rejects writes.
fn is_on(value: &str) -> bool {
    !matches!(value, "0" | "OFF")
}

/// Sessions may be read-only although the server is not.
async fn writable(server: &mut Server, connection: &mut MySqlConnection, is_primary: bool) {
    if !is_primary {
        return server.fail("writable", "read_only is on", "use the primary's address");
    }
    // MariaDB before 11.1 has only the second name, MySQL 8 only the first.
    for name in ["transaction_read_only", "tx_read_only"] {
        let query = format!("SELECT CAST(@@session.{name} AS CHAR)");
        let Ok(value) = sqlx::query_scalar::<_, String>(AssertSqlSafe(query)).fetch_one(&mut *connection).await else {
            continue;
        };
        if is_on(&value) {
            let remedy = format!("set {name}=OFF on the server: every transaction begins as a read-only one");
            return server.fail("writable", format!("{name} is on"), remedy);
        }
        return server.ok("writable", "yes");
    }
    server.warn("writable", "unknown", "make sure that transactions do not begin as read-only ones");
}

/// Percona XtraDB Cluster rejects what its replication does not support.
async fn strict_cluster(server: &mut Server, connection: &mut MySqlConnection) {
    let query = "SHOW GLOBAL VARIABLES LIKE 'pxc_strict_mode'";
    let Ok(Some(row)) = sqlx::query(query).fetch_optional(connection).await else { return };
    if let [_, Some(mode)] = &texts(&row, ["the name of pxc_strict_mode", "pxc_strict_mode"], server) {
        strict_mode(server, mode);
    }
}

fn strict_mode(server: &mut Server, mode: &str) {
    let rejects = matches!(mode, "ENFORCING" | "MASTER");
    let remedy = "set pxc_strict_mode=PERMISSIVE: otherwise the cluster rejects GET_LOCK, with which migrations and advisory locks exclude \
                  each other";
    server.require(!rejects, "cluster", format!("pxc_strict_mode={mode}"), remedy);
}

async fn permissions(server: &mut Server, connection: &mut MySqlConnection) {
    let mut missing = BTreeSet::new();
    // A read-only session would reject the statements before their permissions are checked.
    let _ = sqlx::raw_sql("SET SESSION TRANSACTION READ WRITE").execute(&mut *connection).await;
    for statement in RIGHTS {
        let Err(sqlx::Error::Database(error)) = sqlx::raw_sql(statement).execute(&mut *connection).await else {
            continue;
        };
        if let Some((names, _)) = error.message().split_once(" command denied") {
            missing.extend(names.split(", ").map(str::to_owned));
        }
    }
    let missing = missing.into_iter().collect::<Vec<_>>().join(", ");
    let found = if missing.is_empty() { "may read, write, create and change tables" } else { "some are missing" };
    let remedy = format!("GRANT {missing} on this database to this user");
    server.require(missing.is_empty(), "permissions", found, &remedy);
}

fn version(server: &mut Server, version: &str) {
    let maria = version.contains("MariaDB");
    let (name, needed) = if maria { ("MariaDB", (10, 6)) } else { ("MySQL", (8, 0)) };
    let number = version.split('-').next().unwrap_or(version);
    let parts: Vec<u32> = number.split('.').filter_map(|part| part.parse().ok()).collect();
    let enough = matches!(parts.as_slice(), [major, minor, ..] if (*major, *minor) >= needed);
    server.require(enough, "version", format!("{name} {number}"), "use MySQL 8.0 or MariaDB 10.6 or later");
}

fn database(server: &mut Server, name: &str) {
    let remedy = "add the database to the address: mysql://user@host/NAME";
    server.require(!name.is_empty(), "database", if name.is_empty() { "none" } else { name }, remedy);
}

/// MariaDB before 11.1 has only `tx_isolation`, MySQL 8 only `transaction_isolation`.
async fn isolation(server: &mut Server, connection: &mut MySqlConnection) {
    for query in ["SELECT @@session.transaction_isolation", "SELECT @@session.tx_isolation"] {
        if let Ok(level) = sqlx::query_scalar::<_, String>(query).fetch_one(&mut *connection).await {
            let remedy =
                "use READ-COMMITTED or REPEATABLE-READ: otherwise caches may store rows that are never committed";
            return server.require(level != "READ-UNCOMMITTED", "isolation", level, remedy);
        }
    }
    server.warn("isolation", "unknown", "make sure that it is READ-COMMITTED or REPEATABLE-READ");
}

fn binlog(server: &mut Server, on: bool, format: &str, image: &str) {
    if !on {
        return server.ok("binary log", "off (needed only for change data capture)");
    }
    let found = format!("on, {format}, row image {image}");
    if format == "STATEMENT" {
        let remedy = "set binlog_format=ROW: with STATEMENT the server rejects writes at READ-COMMITTED (error 1665), which relays use";
        return server.fail("binary log", found, remedy);
    }
    let remedy = "for change data capture, set binlog_format=ROW and binlog_row_image=FULL";
    server.advise(format == "ROW" && image == "FULL", "binary log", found, remedy);
}

#[cfg(test)]
mod tests {
    use super::super::report::Verdict;
    use super::*;

    // shows: hazard PO4
    #[test]
    fn cluster_that_rejects_named_locks_fails() {
        let address = Address::read(1, "mysql://host/db").unwrap_or_else(|error| unreachable!("{error}"));
        let mut server = Server::new(&address);
        ["ENFORCING", "MASTER", "PERMISSIVE", "DISABLED"].iter().for_each(|mode| strict_mode(&mut server, mode));
        let verdicts: Vec<Verdict> = server.checks.iter().map(|check| check.verdict).collect();
        assert_eq!(verdicts, [Verdict::Fail, Verdict::Fail, Verdict::Ok, Verdict::Ok]);
    }
}
