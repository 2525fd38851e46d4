//! What Evenkeel needs of a MySQL or a MariaDB.

use super::CONNECT_MAX;
use super::address::Address;
use super::report::Server;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{ConnectOptions, MySqlConnection, Row};
use std::str::FromStr;

/// Every variable the checks look at, in one question. Each exists in MySQL 8 and in MariaDB 10.6.
const QUESTION: &str = "SELECT VERSION(), DATABASE(), @@global.read_only, @@session.autocommit, \
    @@default_storage_engine, @@global.sql_mode, @@character_set_database, @@global.innodb_flush_log_at_trx_commit, \
    @@global.log_bin, @@global.binlog_format, @@global.binlog_row_image, @@global.time_zone, @@session.time_zone";

pub(super) async fn examine(address: &Address, server: &mut Server) {
    let mut connection = match connect(address).await {
        Ok(connection) => connection,
        Err(sentence) => {
            server.fail("reach", address.without_secrets(&sentence), "start it, or correct the address");
            return;
        }
    };
    server.reached = true;
    server.ok("reach", "answers");
    let row = match sqlx::query(QUESTION).fetch_one(&mut connection).await {
        Ok(row) => row,
        Err(error) => return server.fail("settings", error.to_string(), "let this user read the server's variables"),
    };
    let text = |index: usize| row.try_get::<String, _>(index).unwrap_or_default();
    let number = |index: usize| row.try_get::<i64, _>(index).unwrap_or_default();
    version(server, &text(0));
    database(server, &text(1));
    server.judge(number(2) == 0, "writable", on(number(2) == 0, "yes", "read_only is on"), "use the primary's address");
    isolation(server, &mut connection).await;
    server.judge(
        text(4) == "InnoDB",
        "engine",
        text(4),
        "set default_storage_engine=InnoDB: other engines have no transactions",
    );
    let strict = text(5).contains("STRICT_TRANS_TABLES") || text(5).contains("STRICT_ALL_TABLES");
    let remedy = "add STRICT_TRANS_TABLES to sql_mode: without it values that do not fit are cut silently";
    server.advise(strict, "sql mode", on(strict, "strict", "not strict"), remedy);
    let remedy = "create the database with CHARACTER SET utf8mb4: other sets lose characters";
    server.advise(text(6) == "utf8mb4", "characters", text(6), remedy);
    let remedy =
        "set innodb_flush_log_at_trx_commit=1: otherwise a crash loses transactions that were told to be committed";
    server.advise(number(7) == 1, "commits", format!("innodb_flush_log_at_trx_commit={}", number(7)), remedy);
    binlog(server, number(8) == 1, &text(9), &text(10));
    server.ok("time zone", format!("server {}, session {}", text(11), text(12)));
    temporary_table(server, &mut connection).await;
}

async fn connect(address: &Address) -> Result<MySqlConnection, String> {
    let options = MySqlConnectOptions::from_str(&address.url).map_err(|error| error.to_string())?;
    match tokio::time::timeout(CONNECT_MAX, options.connect()).await {
        Ok(connection) => connection.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {CONNECT_MAX:?}")),
    }
}

fn version(server: &mut Server, version: &str) {
    let maria = version.contains("MariaDB");
    let (name, needed) = if maria { ("MariaDB", (10, 6)) } else { ("MySQL", (8, 0)) };
    let number = version.split('-').next().unwrap_or(version);
    let parts: Vec<u32> = number.split('.').filter_map(|part| part.parse().ok()).collect();
    let enough = matches!(parts.as_slice(), [major, minor, ..] if (*major, *minor) >= needed);
    server.judge(enough, "version", format!("{name} {number}"), "use MySQL 8.0 or MariaDB 10.6 or later");
}

fn database(server: &mut Server, name: &str) {
    let remedy = "name one at the end of the address (mysql://user@host/NAME)";
    server.judge(!name.is_empty(), "database", if name.is_empty() { "none is named" } else { name }, remedy);
}

/// MariaDB calls the variable `tx_isolation` before 11.1, MySQL 8 only `transaction_isolation`.
async fn isolation(server: &mut Server, connection: &mut MySqlConnection) {
    for question in ["SELECT @@session.transaction_isolation", "SELECT @@session.tx_isolation"] {
        if let Ok(level) = sqlx::query_scalar::<_, String>(question).fetch_one(&mut *connection).await {
            let remedy = "use READ-COMMITTED or REPEATABLE-READ: a loader would put rows into the cache that are never committed";
            return server.judge(level != "READ-UNCOMMITTED", "isolation", level, remedy);
        }
    }
    server.warn("isolation", "the server does not tell", "see that it is READ-COMMITTED or REPEATABLE-READ");
}

fn binlog(server: &mut Server, on: bool, format: &str, image: &str) {
    if !on {
        return server.ok("binary log", "off (only reading changes from the log would need it)");
    }
    let rows = format == "ROW" && image == "FULL";
    let remedy = "set binlog_format=ROW and binlog_row_image=FULL before changes are read from the log";
    server.advise(rows, "binary log", format!("on, {format}, row image {image}"), remedy);
}

async fn temporary_table(server: &mut Server, connection: &mut MySqlConnection) {
    let made = async {
        sqlx::query("CREATE TEMPORARY TABLE evenkeel_doctor (id BIGINT PRIMARY KEY) ENGINE=InnoDB")
            .execute(&mut *connection)
            .await?;
        sqlx::query("INSERT INTO evenkeel_doctor VALUES (1)").execute(&mut *connection).await?;
        sqlx::query("DROP TEMPORARY TABLE evenkeel_doctor").execute(&mut *connection).await
    };
    match made.await {
        Ok(_) => server.ok("permission", "a temporary table was made, written and dropped"),
        Err(error) => {
            let remedy = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP, CREATE TEMPORARY TABLES to this user";
            server.fail("permission", error.to_string(), remedy);
        }
    }
}

fn on(holds: bool, yes: &'static str, no: &'static str) -> &'static str {
    if holds { yes } else { no }
}
