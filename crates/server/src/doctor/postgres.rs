//! The checks of a PostgreSQL server.

use super::report::Server;
use super::{connect, write_permissions};
use crate::address::Address;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Postgres, Row};

/// Reads every setting that the checks use.
const SETTINGS: &str = "SELECT current_setting('server_version'), current_setting('server_version_num')::int, \
    current_database(), pg_is_in_recovery(), current_setting('default_transaction_read_only'), \
    current_setting('default_transaction_isolation'), current_setting('server_encoding'), current_setting('fsync'), \
    current_setting('synchronous_commit'), current_setting('wal_level'), current_setting('TimeZone')";

const WRITES: [&str; 3] = [
    "CREATE TEMPORARY TABLE evenkeel_doctor (id BIGINT PRIMARY KEY)",
    "INSERT INTO evenkeel_doctor VALUES (1)",
    "DROP TABLE evenkeel_doctor",
];

const VERSION_MIN: i32 = 140_000;

pub(super) async fn examine(address: &Address, server: &mut Server) {
    let Some(mut connection) = connect::<PgConnectOptions>(address, server).await else { return };
    let row = match sqlx::query(SETTINGS).fetch_one(&mut connection).await {
        Ok(row) => row,
        Err(error) => return server.fail("settings", error.to_string(), "allow this role to read server settings"),
    };
    let text = |index: usize| row.try_get::<String, _>(index).unwrap_or_default();
    let enough = row.try_get::<i32, _>(1).unwrap_or_default() >= VERSION_MIN;
    let version = text(0).split(' ').next().unwrap_or_default().to_owned();
    server.require(enough, "version", format!("PostgreSQL {version}"), "use PostgreSQL 14 or later");
    server.ok("database", text(2));
    let standby = row.try_get::<bool, _>(3).unwrap_or_default();
    let writable = !standby && text(4) == "off";
    let found = if standby {
        "a standby"
    } else if writable {
        "yes"
    } else {
        "default_transaction_read_only is on"
    };
    server.require(writable, "writable", found, "use the primary's address, and a role that may write");
    // Every level is sufficient: PostgreSQL treats READ UNCOMMITTED as READ COMMITTED.
    server.ok("isolation", text(5));
    let remedy = "create the database with ENCODING 'UTF8': other encodings reject or lose characters";
    server.advise(text(6) == "UTF8", "encoding", text(6), remedy);
    let durable = text(7) == "on" && text(8) != "off";
    let remedy = "set fsync=on and synchronous_commit=on: otherwise a crash may lose committed transactions";
    server.advise(durable, "durability", format!("fsync={}, synchronous_commit={}", text(7), text(8)), remedy);
    server.ok("WAL level", format!("wal_level={} (only change data capture needs logical)", text(9)));
    server.ok("time zone", text(10));
    let remedy = "GRANT CREATE, TEMPORARY ON DATABASE and USAGE, CREATE ON SCHEMA to this role";
    let done = "created, wrote and dropped a temporary table";
    write_permissions::<Postgres>(server, &mut connection, &WRITES, done, remedy).await;
}
