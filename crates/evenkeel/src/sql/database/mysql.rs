//! MySQL and MariaDB. A deadlock rolls the whole transaction back, and statements sent after it are committed one by one. A unit of
//! work therefore checks that its transaction still exists before it writes its effects.

use super::dialect::{Dialect, Kind, SAVEPOINT, SqlErrorClass, Stores};
use super::driver::{Driver, driver, was_marked};
use super::{Database, Pool, Row, Typed, Value};
use crate::sql::Conflict;
use evenkeel_link::support::guard;
use sqlx::AssertSqlSafe;
use sqlx::mysql::MySqlDatabaseError;
use sqlx_core::transaction::TransactionManager;
use std::collections::HashMap;

/// Values of at most this size are written into the text of a statement where that saves a round trip; larger ones would come too
/// close to the largest message that a server accepts.
const INLINED_MAX: usize = 16 * 1024;

impl Database for sqlx::MySql {}

impl Typed for sqlx::MySql {
    const DIALECT: &'static Dialect = &Dialect {
        kind: Kind::MySql,
        // The time at which the statement began, without date conversion. (`UNIX_TIMESTAMP(NOW(3))` uses the session's time zone and is
        // ambiguous for an hour each autumn.)
        now_ms: "CAST(@@timestamp * 1000 AS SIGNED)",
        skip_locked: "FOR UPDATE SKIP LOCKED",
        for_share: "LOCK IN SHARE MODE",
        greatest_least: ["GREATEST", "LEAST"],
        insert_ignore: ["INSERT IGNORE INTO", ""],
        begin: "BEGIN",
        before_begin: "SET SESSION completion_type = 'NO_CHAIN'",
        mark: SAVEPOINT[0],
        unmark: SAVEPOINT[1],
        if_marked: "",
        lock_wait: "SET innodb_lock_wait_timeout = 1",
        notify: None,
        caches_statements: true,
    };

    fn erased(pool: &sqlx::Pool<Self>) -> Pool {
        Pool::MySql(pool.clone())
    }
}

driver!(sqlx::MySql, sqlx::MySqlConnection, Row::MySql, as_text, {
    /// Sends both statements in one message, which cannot be prepared.
    async fn insert_marked(
        &mut self,
        work: &[u8],
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<bool, sqlx::Error> {
        if values.iter().map(length).sum::<usize>() > INLINED_MAX {
            return Ok(self.is_marked(work).await? && self.execute(statement, values).await? == 1);
        }
        let both = format!("{}; {}", self.dialect().unmark, inlined(statement, values));
        was_marked(sqlx::raw_sql(AssertSqlSafe(both)).execute(self).await.map(drop))
    }

    async fn check_settings(&mut self) -> Result<Result<Stores, String>, sqlx::Error> {
        const SETTINGS: &str =
            "SHOW VARIABLES WHERE Variable_name IN ('autocommit', 'completion_type', 'binlog_format', 'log_bin')";
        let mut settings = HashMap::new();
        for row in self.rows(SETTINGS, &[]).await? {
            settings.insert(row.text(0)?.to_uppercase(), row.text(1)?.to_uppercase());
        }
        // In one row: the limit counts for the rows of `SHOW`, too.
        const OF_SESSION: &str = "SELECT CAST(@@session.sql_select_limit AS CHAR), CAST(@@session.sql_mode AS CHAR)";
        for row in self.rows(OF_SESSION, &[]).await? {
            settings.insert("SQL_SELECT_LIMIT".to_owned(), row.text(0)?);
            settings.insert("SQL_MODE".to_owned(), row.text(1)?.to_uppercase());
        }
        Ok(refused_setting(&settings).map_or(Ok(Stores::Unicode), Err))
    }

    async fn message_bytes_max(&mut self) -> Result<Option<u64>, sqlx::Error> {
        let limit: i64 = sqlx::query_scalar("SELECT CAST(@@max_allowed_packet AS SIGNED)").fetch_one(self).await?;
        Ok(u64::try_from(limit).ok())
    }
});

/// The codes for an existing table, column, row or index; a missing table, column or index; a foreign key.
pub(super) fn is_done_already(error: &MySqlDatabaseError) -> bool {
    matches!(error.number(), 1050 | 1060 | 1061 | 1062 | 1051 | 1091 | 1826)
}

/// What an error means.
pub(super) fn class_of(error: &MySqlDatabaseError) -> SqlErrorClass {
    match error.number() {
        1213 => SqlErrorClass::Contention(Conflict::Deadlock),
        // MariaDB returns 1205 for `NOWAIT` as well, MySQL 3572.
        1205 | 3572 => SqlErrorClass::Contention(Conflict::NotGranted),
        // 1020: the row changed since the snapshot. 3101: the transaction failed certification in a cluster.
        1020 | 3101 => SqlErrorClass::Contention(Conflict::Serialization),
        1062 => SqlErrorClass::Duplicate,
        // Only for tables of the library; a missing table of the program is the program's error.
        1146 if error.message().contains(".evenkeel_") => SqlErrorClass::NoTable,
        // The code covers any missing named object; in this library it can only be a savepoint.
        1305 => SqlErrorClass::NoSavepoint,
        // Server shutdown, killed connection, killed query, lost connection.
        1053 | 1077 | 1317 | 1927 | 2006 | 2013 => SqlErrorClass::Connection,
        // The server closed the connection because it was idle.
        4031 => SqlErrorClass::SessionOver,
        // `read_only`, `START TRANSACTION READ ONLY`, `innodb_read_only`.
        1290 | 1792 | 1836 => SqlErrorClass::ReadOnly,
        // Too many connections of the server, or of the user.
        1040 | 1203 => SqlErrorClass::Full,
        _ => SqlErrorClass::Other,
    }
}

/// The setting with which a relay cannot work, and the statement that changes it. Names and values are in upper case.
fn refused_setting(settings: &HashMap<String, String>) -> Option<String> {
    let value = |name: &str| settings.get(name).map_or("", String::as_str);
    // Of 32 bits where the server is.
    let is_limited = value("SQL_SELECT_LIMIT").parse::<u64>().is_ok_and(|limit| limit < u32::MAX.into());
    let (setting, consequence, mend) = if is_limited {
        (
            "sql_select_limit is set",
            "the server withholds rows without an error",
            "SET GLOBAL sql_select_limit = DEFAULT",
        )
    } else if value("SQL_MODE").split(',').any(|mode| mode == "ORACLE") {
        (
            "sql_mode contains ORACLE",
            "the server takes BEGIN, with which transactions begin, for that of a block of statements",
            "SET GLOBAL sql_mode = DEFAULT",
        )
    } else if value("AUTOCOMMIT") == "OFF" {
        ("autocommit is 0", "single statements would never be committed", "SET GLOBAL autocommit = 1")
    } else if !matches!(value("COMPLETION_TYPE"), "" | "NO_CHAIN") {
        (
            "completion_type is not NO_CHAIN",
            "a commit would begin another transaction, or close its connection",
            "SET GLOBAL completion_type = 'NO_CHAIN'",
        )
    } else if value("LOG_BIN") == "ON" && value("BINLOG_FORMAT") == "STATEMENT" {
        (
            "binlog_format is STATEMENT",
            "the server rejects every claim, which is at READ COMMITTED",
            "SET GLOBAL binlog_format = 'ROW'",
        )
    } else {
        return None;
    };
    Some(format!(
        "the relay does not work on this database, because {setting}: {consequence}. Execute `{mend}`, remove the setting from the \
         server's and the pool's configuration, and restart this program"
    ))
}

/// The statement with its values in the text, if it is short enough. sqlx 0.9.0 loses a connection if a future is dropped
/// while a statement is being prepared: it takes the first packet of the reply for the whole reply, and the later rollback waits for
/// ever for the next one. A text statement is not prepared.
fn as_text(statement: &str, values: &[Value<'_>]) -> Option<AssertSqlSafe<String>> {
    let is_short = values.iter().map(length).sum::<usize>() <= INLINED_MAX;
    (is_short && guard("mysql_prepares_nothing_it_may_drop")).then(|| AssertSqlSafe(inlined(statement, values)))
}

/// An upper bound of its length in bytes or digits.
fn length(value: &Value<'_>) -> usize {
    bytes(value).map_or(20, <[u8]>::len)
}

/// The bytes of a byte string or a text.
fn bytes<'a>(value: &Value<'a>) -> Option<&'a [u8]> {
    match value {
        Value::Bytes(bytes) | Value::MaybeBytes(Some(bytes)) => Some(bytes),
        Value::Text(text) | Value::MaybeText(Some(text)) => Some(text.as_bytes()),
        _ => None,
    }
}

/// The statement with its values in the text.
fn inlined(statement: &str, values: &[Value<'_>]) -> String {
    let mut values = values.iter();
    let mut text = String::with_capacity(512);
    for part in statement.split_inclusive('?') {
        match part.strip_suffix('?') {
            Some(before) => {
                text.push_str(before);
                inline(values.next().unwrap_or(&Value::MaybeInt(None)), &mut text);
            }
            None => text.push_str(part),
        }
    }
    text
}

/// Writes bytes and text as hexadecimal digits, which need no escaping.
fn inline(value: &Value<'_>, text: &mut String) {
    if let Value::Int(number) | Value::MaybeInt(Some(number)) = value {
        return text.push_str(&number.to_string());
    }
    let Some(bytes) = bytes(value) else { return text.push_str("NULL") };
    text.push_str("x'");
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    text.extend(halves.filter_map(|half| char::from_digit(half.into(), 16)));
    text.push('\'');
}

#[cfg(test)]
mod tests {
    use super::{Value, inlined, refused_setting};

    // shows: hazard BW9, hazard T22, sql::Relay::run_once
    #[test]
    fn setting_that_stops_a_relay_names_its_remedy() {
        let with = |pairs: &[(&str, &str)]| {
            let own = |pair: &(&str, &str)| (pair.0.to_owned(), pair.1.to_owned());
            refused_setting(&pairs.iter().map(own).collect())
        };
        for fine in [
            &[][..],
            &[("AUTOCOMMIT", "ON"), ("COMPLETION_TYPE", "NO_CHAIN"), ("LOG_BIN", "ON"), ("BINLOG_FORMAT", "MIXED")],
            &[("LOG_BIN", "OFF"), ("BINLOG_FORMAT", "STATEMENT")],
            &[("SQL_SELECT_LIMIT", "18446744073709551615"), ("SQL_MODE", "STRICT_TRANS_TABLES,PIPES_AS_CONCAT")],
            &[("SQL_SELECT_LIMIT", "4294967295"), ("SQL_MODE", "")],
        ] {
            assert_eq!(with(fine), None);
        }
        for (refused, remedy) in [
            (&[("AUTOCOMMIT", "OFF")][..], "SET GLOBAL autocommit = 1"),
            (&[("COMPLETION_TYPE", "CHAIN")], "SET GLOBAL completion_type = 'NO_CHAIN'"),
            (&[("COMPLETION_TYPE", "RELEASE")], "SET GLOBAL completion_type = 'NO_CHAIN'"),
            (&[("LOG_BIN", "ON"), ("BINLOG_FORMAT", "STATEMENT")], "SET GLOBAL binlog_format = 'ROW'"),
            (&[("SQL_SELECT_LIMIT", "1000")], "SET GLOBAL sql_select_limit = DEFAULT"),
            (&[("SQL_MODE", "PIPES_AS_CONCAT,ORACLE,ANSI_QUOTES")], "SET GLOBAL sql_mode = DEFAULT"),
        ] {
            assert!(with(refused).is_some_and(|text| text.contains(remedy)), "{remedy}");
        }
    }

    #[test]
    fn inlined_value_is_escaped() {
        let values = [Value::Text("';--"), Value::Bytes(&[0, 0x5c, 0xff]), Value::MaybeText(None), Value::Int(-7)];
        let values = [&values[..], &[Value::MaybeInt(Some(2))]].concat();
        let text = inlined("INSERT INTO t SELECT ?, ?, ?, ?, ? + 1", &values);
        assert_eq!(text, "INSERT INTO t SELECT x'273b2d2d', x'005cff', NULL, -7, 2 + 1");
    }
}
