//! The binary log of a MariaDB as a source.

mod barrier;
mod cache;
mod changes;
mod damage;
mod preflight;
mod resume;
mod types;

use evenkeel::cdc::mysql::Binlog;
use evenkeel::cdc::source::{
    Change, Checkpoint, Event, Identity, Kind, Position, Source, SourceError, StartAt, Started, Table, Value,
};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, Row as _};
use testkit::servers::{MariaDb, MariaDbOptions};

/// A server with a log, and a database `shop`.
struct Server {
    maria: MariaDb,
    conn: MySqlConnection,
}

/// What a source needs.
const LOG: [&str; 5] =
    ["--log-bin=bin", "--server-id=1", "--binlog-format=ROW", "--binlog-row-image=FULL", "--binlog-row-metadata=FULL"];

impl Server {
    async fn start() -> Server {
        Server::with(&[]).await
    }

    /// With more arguments of `mariadbd`.
    async fn with(arguments: &[&str]) -> Server {
        let options = MariaDbOptions::new().arguments(LOG).arguments(arguments.iter().copied());
        let maria = MariaDb::start(options).await.unwrap();
        let conn = MySqlConnection::connect(&maria.url()).await.unwrap();
        let mut server = Server { maria, conn };
        server.run(&["CREATE DATABASE shop", "USE shop"]).await;
        server
    }

    /// Runs statements in one session.
    async fn run(&mut self, statements: &[&str]) {
        for sql in statements {
            let run = sqlx::raw_sql(AssertSqlSafe(*sql)).execute(&mut self.conn).await;
            assert!(run.is_ok(), "{sql}: {run:?}");
        }
    }

    /// Another session in the same database.
    async fn session(&self) -> MySqlConnection {
        MySqlConnection::connect(&format!("{}/shop", self.maria.url())).await.unwrap()
    }

    /// Number of the file and offset at the end of the log.
    async fn end(&mut self) -> (u64, u64) {
        let row = sqlx::raw_sql("SHOW MASTER STATUS").fetch_one(&mut self.conn).await.unwrap();
        let file: String = row.get(0);
        let offset: u64 = row.get(1);
        (file.rsplit_once('.').unwrap().1.parse().unwrap(), offset)
    }

    /// Purges the files before this one. The server keeps those that it still sends to a reader, so its threads are ended first.
    async fn purge(&mut self, to: &str) {
        loop {
            let threads = "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'";
            let threads: Vec<i64> = sqlx::query_scalar(threads).fetch_all(&mut self.conn).await.unwrap();
            for thread in threads {
                // It may have ended by itself.
                let kill = format!("KILL {thread}");
                let _ended = sqlx::raw_sql(AssertSqlSafe(kill)).execute(&mut self.conn).await;
            }
            self.run(&[&format!("PURGE BINARY LOGS TO '{to}'")]).await;
            let first = sqlx::raw_sql("SHOW BINARY LOGS").fetch_one(&mut self.conn).await.unwrap();
            if first.get::<String, _>(0) == to {
                return;
            }
        }
    }

    fn source(&self, tables: &[&str]) -> Binlog {
        Binlog::new(&self.maria.url(), 4_711, tables.iter().map(|name| table(name)).collect()).unwrap()
    }

    /// A source that has begun at the end of the log.
    async fn reading(&self, tables: &[&str]) -> Binlog {
        self.reading_from(tables, StartAt::End { epoch: 1 }).await.0
    }

    async fn reading_from(&self, tables: &[&str], at: StartAt) -> (Binlog, Started) {
        let mut source = self.source(tables);
        let started = source.start(at).await.unwrap();
        (source, started)
    }

    /// What the source returns up to the end of the log as it is now.
    async fn read(&mut self, source: &mut Binlog) -> Vec<Event> {
        let end = self.end().await;
        let mut events = Vec::new();
        loop {
            events.extend(source.next().await.unwrap());
            let at = events.iter().rev().find_map(|event| match event {
                Event::Commit { position, .. } | Event::Idle { position } => Some(position.order),
                _ => None,
            });
            if at >= Some(end) {
                return events;
            }
        }
    }

    /// The changes that the source returns up to the end of the log.
    async fn changes(&mut self, source: &mut Binlog) -> Vec<Change> {
        changes(&self.read(source).await)
    }
}

fn table(name: &str) -> Table {
    Table { schema: "shop".into(), name: name.into() }
}

fn changes(events: &[Event]) -> Vec<Change> {
    let changes = events.iter().filter_map(|event| match event {
        Event::Change(change) => Some(change.clone()),
        _ => None,
    });
    changes.collect()
}

/// A change in a line: `+shop.t id=1 name=a`, `-..`, `~.. -> ..`, `*shop.t` for unknown rows, `#shop.t` for a new definition.
fn line(change: &Change) -> String {
    let row = |row: &Option<evenkeel::cdc::source::Row>| {
        let columns = row.iter().flat_map(|row| row.columns());
        columns.map(|(name, value)| format!(" {name}={}", shown(value))).collect::<String>()
    };
    let (table, before, after) = (&change.table, row(&change.before), row(&change.after));
    match change.kind {
        Kind::Insert => format!("+{table}{after}"),
        Kind::Delete => format!("-{table}{before}"),
        Kind::Update => format!("~{table}{before} ->{after}"),
        Kind::Truncate => format!("*{table}"),
        Kind::Schema => format!("#{table}"),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Unsigned(number) => format!("{number}u"),
        other => format!("{other:?}"),
    }
}

fn lines(changes: &[Change]) -> Vec<String> {
    changes.iter().map(line).collect()
}

/// A checkpoint behind the last group of these events.
fn checkpoint(events: &[Event]) -> Checkpoint {
    let last = events.iter().rev().find_map(|event| match event {
        Event::Commit { position, anchor, .. } => Some((position.clone(), anchor.clone())),
        _ => None,
    });
    let (Position { epoch, text, .. }, anchor) = last.unwrap();
    Checkpoint { identity: Identity("mariadb server_id=1".to_owned()), epoch, position: text, anchor }
}

/// Why a start from this checkpoint fails.
async fn refusal(server: &Server, at: Checkpoint) -> SourceError {
    server.source(&["t"]).start(StartAt::Checkpoint(at)).await.unwrap_err()
}
