//! Changes that plain SQL makes to a SQLite database reach caches and functions.

use crate::rig::{Calls, in_time};
use evenkeel::Keel;
use evenkeel::cdc::source::{Change, ChangeTable, Event, GapCause, Kind, Source, SourceError, StartAt, Value};
use evenkeel::cdc::{Capture, CdcError};
use evenkeel::link::LinkOptions;
use evenkeel::sql::migrate;
use sqlx::SqlitePool;
use std::convert::Infallible;
use std::time::Duration;
use testkit::park;

struct Rig {
    pool: SqlitePool,
    _database: park::Database,
}

impl Rig {
    async fn new() -> Self {
        let database = park::sqlite_database().unwrap();
        let pool = SqlitePool::connect(&database.url).await.unwrap();
        migrate(&pool).await.unwrap();
        let rig = Self { pool, _database: database };
        rig.run("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, photo BLOB)").await;
        rig.source().install().await.unwrap();
        rig
    }

    fn source(&self) -> ChangeTable {
        ChangeTable::new(&self.pool).table("users", ["id", "name", "photo"]).every(Duration::from_millis(1))
    }

    async fn run(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(&self.pool).await.unwrap();
    }

    fn capture(&self, keel: &Keel, calls: &Calls) -> Capture {
        let calls = calls.clone();
        let rules = |rule: evenkeel::cdc::TableRules| rule.call("calls", move |changed| calls.note(changed)).key("id");
        keel.cdc("main", &self.pool, self.source()).table("users", rules)
    }

    /// Until the checkpoint is at this change.
    async fn until_at(&self, keel: &Keel, position: &str) {
        let admin = keel.cdc_admin("main", &self.pool);
        while admin.status().await.unwrap().and_then(|status| status.position).as_deref() != Some(position) {
            tokio::task::yield_now().await;
        }
    }
}

/// The changes of what a source returns now.
async fn changes(source: &mut impl Source) -> Vec<Change> {
    let events = source.next().await.unwrap();
    let changes =
        events.into_iter().filter_map(|event| if let Event::Change(change) = event { Some(change) } else { None });
    changes.collect()
}

// shows: hazard CD9, cdc::ChangeTable
#[tokio::test]
async fn every_statement_is_a_change_with_both_images() {
    in_time(async {
        let rig = Rig::new().await;
        let mut source = rig.source();
        source.start(StartAt::End { epoch: 1 }).await.unwrap();
        rig.run("INSERT INTO users VALUES (1, 'Ada', x'00FF'), (2, NULL, NULL)").await;
        rig.run("UPDATE users SET id = 3, name = 'Grace' WHERE id = 1").await;
        rig.run("DELETE FROM users").await;
        let changes = changes(&mut source).await;
        let shape = |change: &Change| {
            let id = |row: &Option<evenkeel::cdc::source::Row>| row.as_ref().and_then(|row| row.get("id").cloned());
            (change.kind, id(&change.before), id(&change.after))
        };
        let int = |id| Some(Value::Int(id));
        let deleted = [(Kind::Delete, int(2), None), (Kind::Delete, int(3), None)];
        let expected = [
            (Kind::Insert, None, int(1)),
            (Kind::Insert, None, int(2)),
            (Kind::Update, int(1), int(3)),
            deleted[0].clone(),
            deleted[1].clone(),
        ];
        assert_eq!(changes.iter().map(shape).collect::<Vec<_>>(), expected);
        let first = changes[0].after.as_ref().unwrap();
        assert_eq!((first.get("photo"), first.get("other")), (Some(&Value::Bytes(vec![0, 255])), None));
        assert_eq!(changes[1].after.as_ref().unwrap().get("name"), Some(&Value::Null));
    })
    .await;
}

async fn plain_sql_reaches_the_cache(keel: Keel) {
    let rig = Rig::new().await;
    rig.run("INSERT INTO users (id, name) VALUES (1, 'Ada')").await;
    let users = keel.cache::<i64, String>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    let read = || async {
        let name = sqlx::query_scalar("SELECT name FROM users WHERE id = 1").fetch_optional(&rig.pool).await.unwrap();
        let found = users.get(&1, |_| async { Ok::<Option<String>, Infallible>(name) }).await.unwrap();
        found.map(|name| name.to_string())
    };
    let story = async {
        rig.until_at(&keel, "1").await;
        assert_eq!(read().await.as_deref(), Some("Ada"));
        rig.run("UPDATE users SET name = 'Grace'").await;
        while read().await.as_deref() != Some("Grace") {
            tokio::task::yield_now().await;
        }
        rig.run("DELETE FROM users").await;
        while read().await.is_some() {
            tokio::task::yield_now().await;
        }
    };
    let capture = keel.cdc("main", &rig.pool, rig.source()).table("users", |rule| rule.cache(&users).key("id"));
    capture.run(story).await.unwrap();
}

// shows: D1
#[tokio::test]
async fn plain_sql_reaches_the_cache_in_memory() {
    in_time(plain_sql_reaches_the_cache(Keel::memory())).await;
}

// shows: D1
#[tokio::test]
async fn plain_sql_reaches_the_cache_on_redis() {
    in_time(async {
        let server = park::redis().await.unwrap();
        let mut options = LinkOptions::from_url(&server.url).unwrap();
        server.prefix.clone_into(&mut options.prefix);
        plain_sql_reaches_the_cache(Keel::builder().connect_with(options).await.unwrap()).await;
    })
    .await;
}

// shows: cdc::ChangeTable
#[tokio::test]
async fn change_of_a_rolled_back_transaction_does_not_exist() {
    in_time(async {
        let rig = Rig::new().await;
        let mut source = rig.source();
        source.start(StartAt::End { epoch: 1 }).await.unwrap();
        rig.run("BEGIN; INSERT INTO users (id) VALUES (1); ROLLBACK").await;
        rig.run("INSERT INTO users (id) VALUES (2)").await;
        let changes = changes(&mut source).await;
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].after.as_ref().unwrap().get("id"), Some(&Value::Int(2)));
    })
    .await;
}

// shows: D2
#[tokio::test]
async fn changes_between_two_readers_are_not_missed() {
    in_time(async {
        let (rig, keel, calls) = (Rig::new().await, Keel::memory(), Calls::default());
        rig.capture(&keel, &calls).run(rig.until_at(&keel, "0")).await.unwrap();
        rig.run("INSERT INTO users (id) VALUES (1), (2)").await;
        rig.capture(&keel, &calls).run(rig.until_at(&keel, "2")).await.unwrap();
        rig.run("INSERT INTO users (id) VALUES (3)").await;
        rig.capture(&keel, &calls).run(rig.until_at(&keel, "3")).await.unwrap();
        assert_eq!(calls.ids(), [1, 2, 3]);
        let left: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM evenkeel_cdc_log").fetch_one(&rig.pool).await.unwrap();
        assert_eq!(left, 1, "what was carried out is deleted, but for the anchor");
    })
    .await;
}

/// The numbers of a table that was restored and has grown again are those of other changes.
// shows: D7, hazard CD6, cdc::ChangeTable
#[tokio::test]
async fn replaced_change_at_the_checkpoint_is_a_gap() {
    in_time(async {
        let (rig, keel, calls) = (Rig::new().await, Keel::memory(), Calls::default());
        rig.capture(&keel, &calls).run(rig.until_at(&keel, "0")).await.unwrap();
        rig.run("INSERT INTO users (id) VALUES (1)").await;
        rig.capture(&keel, &calls).run(rig.until_at(&keel, "1")).await.unwrap();
        for (damage, cause) in [
            ("UPDATE evenkeel_cdc_log SET tag = 'another'", GapCause::AnchorMismatch),
            ("DELETE FROM evenkeel_cdc_log", GapCause::Purged),
            ("DELETE FROM sqlite_sequence", GapCause::RolledBack),
            ("UPDATE evenkeel_cdc_log_name SET name = 'another'", GapCause::OtherSource),
        ] {
            rig.run(damage).await;
            let error = rig.capture(&keel, &calls).run(std::future::pending()).await.unwrap_err();
            assert!(matches!(&error, CdcError::Gap(gap) if gap.cause == cause), "{damage}: {error}");
        }
        assert_eq!(calls.ids(), [1]);
    })
    .await;
}

// shows: D3, cdc::ChangeTable::install, cdc::ChangeTable::uninstall, cdc::Source::start, cdc::Source::next
// shows: cdc::Source::barrier, cdc::Source::confirm
#[tokio::test]
async fn missing_trigger_is_refused_and_installing_repairs_it() {
    in_time(async {
        let rig = Rig::new().await;
        rig.source().uninstall().await.unwrap();
        let refused = rig.source().start(StartAt::End { epoch: 1 }).await.unwrap_err();
        assert!(
            matches!(&refused, SourceError::Refused { remedy, .. } if remedy == "Call ChangeTable::install()"),
            "{refused}"
        );
        rig.source().install().await.unwrap();
        assert!(rig.source().start(StartAt::End { epoch: 1 }).await.is_ok());
        let missing = ChangeTable::new(&rig.pool).table("orders", ["id"]);
        assert!(missing.install().await.is_err());
    })
    .await;
}
