//! The checks of a MySQL or MariaDB server.

use super::report::Server;
use super::{connect, schema};
use crate::address::Address;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{AssertSqlSafe, MySqlConnection, Row};
use std::collections::BTreeSet;

/// Reads every variable that the checks use. Each exists in MySQL 8.0 and in MariaDB 10.6.
const VARIABLES: &str = "SELECT VERSION(), DATABASE(), @@global.read_only, @@session.autocommit, \
    @@default_storage_engine, @@global.sql_mode, @@character_set_database, @@global.innodb_flush_log_at_trx_commit, \
    @@global.log_bin, @@global.binlog_format, @@global.binlog_row_image, @@global.time_zone, @@session.time_zone";

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
    let row = match sqlx::query(VARIABLES).fetch_one(&mut connection).await {
        Ok(row) => row,
        Err(error) => return server.fail("settings", error.to_string(), "allow this user to read server variables"),
    };
    let text = |index: usize| row.try_get::<String, _>(index).unwrap_or_default();
    let number = |index: usize| row.try_get::<i64, _>(index).unwrap_or_default();
    version(server, &text(0));
    database(server, &text(1));
    writable(server, &mut connection, number(2) == 0).await;
    strict_cluster(server, &mut connection).await;
    isolation(server, &mut connection).await;
    server.require(
        text(4) == "InnoDB",
        "engine",
        text(4),
        "set default_storage_engine=InnoDB: other engines have no transactions",
    );
    let strict = text(5).contains("STRICT_TRANS_TABLES") || text(5).contains("STRICT_ALL_TABLES");
    let found = if strict { "strict" } else { "not strict" };
    let remedy = "add STRICT_TRANS_TABLES to sql_mode: otherwise the server truncates values that do not fit";
    server.advise(strict, "sql mode", found, remedy);
    let remedy = "create the database with CHARACTER SET utf8mb4: other character sets lose characters";
    server.advise(text(6) == "utf8mb4", "encoding", text(6), remedy);
    let remedy = "set innodb_flush_log_at_trx_commit=1: otherwise a crash may lose committed transactions";
    server.advise(number(7) == 1, "durability", format!("innodb_flush_log_at_trx_commit={}", number(7)), remedy);
    binlog(server, number(8) == 1, &text(9), &text(10));
    server.ok("time zone", format!("server {}, session {}", text(11), text(12)));
    permissions(server, &mut connection).await;
    schema(address, server).await;
}

/// Sessions may be read-only although the server is not.
async fn writable(server: &mut Server, connection: &mut MySqlConnection, is_primary: bool) {
    if !is_primary {
        return server.fail("writable", "read_only is on", "use the primary's address");
    }
    // MariaDB before 11.1 has only the second name, MySQL 8 only the first.
    for name in ["transaction_read_only", "tx_read_only"] {
        let query = format!("SELECT @@session.{name}");
        let is_on = sqlx::query_scalar::<_, i64>(AssertSqlSafe(query)).fetch_one(&mut *connection).await;
        if is_on.is_ok_and(|is_on| is_on != 0) {
            let remedy = format!("set {name}=OFF on the server: every transaction begins as a read-only one");
            return server.fail("writable", format!("{name} is on"), remedy);
        }
    }
    server.ok("writable", "yes");
}

/// Percona XtraDB Cluster rejects what its replication does not support.
async fn strict_cluster(server: &mut Server, connection: &mut MySqlConnection) {
    let query = "SHOW GLOBAL VARIABLES LIKE 'pxc_strict_mode'";
    let Ok(Some(row)) = sqlx::query(query).fetch_optional(connection).await else { return };
    strict_mode(server, &row.try_get::<String, _>(1).unwrap_or_default());
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

    #[test]
    fn cluster_that_rejects_named_locks_fails() {
        let address = Address::read(1, "mysql://host/db").unwrap_or_else(|error| unreachable!("{error}"));
        let mut server = Server::new(&address);
        ["ENFORCING", "MASTER", "PERMISSIVE", "DISABLED"].iter().for_each(|mode| strict_mode(&mut server, mode));
        let verdicts: Vec<Verdict> = server.checks.iter().map(|check| check.verdict).collect();
        assert_eq!(verdicts, [Verdict::Fail, Verdict::Fail, Verdict::Ok, Verdict::Ok]);
    }
}
