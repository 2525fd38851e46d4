//! The checks of a MySQL or MariaDB server.

use super::report::Server;
use super::{connect, write_permissions};
use crate::address::Address;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{MySql, MySqlConnection, Row};

/// Reads every variable that the checks use. Each exists in MySQL 8.0 and in MariaDB 10.6.
const VARIABLES: &str = "SELECT VERSION(), DATABASE(), @@global.read_only, @@session.autocommit, \
    @@default_storage_engine, @@global.sql_mode, @@character_set_database, @@global.innodb_flush_log_at_trx_commit, \
    @@global.log_bin, @@global.binlog_format, @@global.binlog_row_image, @@global.time_zone, @@session.time_zone";

const WRITES: [&str; 3] = [
    "CREATE TEMPORARY TABLE evenkeel_doctor (id BIGINT PRIMARY KEY) ENGINE=InnoDB",
    "INSERT INTO evenkeel_doctor VALUES (1)",
    "DROP TEMPORARY TABLE evenkeel_doctor",
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
    let writable = number(2) == 0;
    let found = if writable { "yes" } else { "read_only is on" };
    server.require(writable, "writable", found, "use the primary's address");
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
    let remedy =
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP, CREATE TEMPORARY TABLES to this user";
    let done = "created, wrote and dropped a temporary table";
    write_permissions::<MySql>(server, &mut connection, &WRITES, done, remedy).await;
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
    let rows = format == "ROW" && image == "FULL";
    let remedy = "for change data capture, set binlog_format=ROW and binlog_row_image=FULL";
    server.advise(rows, "binary log", format!("on, {format}, row image {image}"), remedy);
}
