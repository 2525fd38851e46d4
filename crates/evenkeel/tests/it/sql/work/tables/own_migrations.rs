//! A program's own migrations, run by the library's runner: together, killed at each step, and after sqlx's runner.

use crate::sql::rig::{Rig, Sql, pool};
use evenkeel::sql::{SqlError, migrate, run_migrations};
use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sqlx::migrate::{Migrate, Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, MySql, Pool, Postgres, SqlSafeStr, Sqlite};
use std::ops::Range;
use std::time::Duration;
use testkit::process::{Station, Worker};
use testkit::schema::{described, make_older_library};

on_each! {
    programs_started_at_once_run_their_migrations_once
    programs_started_at_once_upgrade_an_older_schema
    database_with_a_later_migration_is_rejected
    table_of_another_program_is_not_taken_over
}

pub(super) const TABLE: &str = "goods_migrations";
pub(super) const PROGRAMS: usize = 10;

/// Statements that cannot be repeated: each must be executed once.
const GOODS: &str = "-- Goods, and where they are.
CREATE TABLE goods (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL);
CREATE INDEX goods_name ON goods (name);
INSERT INTO goods (id, name) VALUES (1, 'tea; green'), (2, 'salt');
CREATE TABLE places (id BIGINT NOT NULL PRIMARY KEY);";

const UNITS: &str = "ALTER TABLE goods ADD COLUMN units BIGINT NOT NULL DEFAULT 1;
UPDATE goods SET units = units + 1;
INSERT INTO places (id) VALUES (7);
ALTER TABLE places ADD COLUMN room BIGINT;";

fn migrator(scripts: &[&str]) -> Migrator {
    let migration = |(at, script): (usize, &&str)| {
        let version = i64::try_from(at).unwrap() + 1;
        let sql = AssertSqlSafe((*script).to_owned()).into_sql_str();
        Migration::new(version, "goods".into(), MigrationType::Simple, sql, false)
    };
    Migrator::with_migrations(scripts.iter().enumerate().map(migration).collect())
}

/// What a program of the older version knows.
pub(super) fn former() -> Migrator {
    migrator(&[GOODS])
}

fn both() -> Migrator {
    migrator(&[GOODS, UNITS])
}

/// What a program does when it starts.
async fn start<DB: Sql>(pool: &Pool<DB>) -> Result<(), SqlError> {
    run_migrations(pool, &both(), TABLE).await?;
    migrate(pool).await
}

async fn start_at_once<DB: Sql>(url: &str) {
    let pools = join_all((0..PROGRAMS).map(|_| pool::<DB>(url, 1))).await;
    for started in join_all(pools.iter().map(start)).await {
        started.unwrap();
    }
}

/// Each statement was executed once, and noted.
async fn is_complete<DB: Sql>(pool: &Pool<DB>) {
    let mut connection = pool.acquire().await.unwrap();
    for (what, expected) in [
        ("COUNT(*) FROM goods", 2),
        ("MIN(units) FROM goods", 2),
        ("MAX(units) FROM goods", 2),
        ("COUNT(*) FROM places WHERE room IS NULL", 1),
        ("COUNT(*) FROM goods_migrations WHERE success", 2),
        ("COUNT(*) FROM goods_migrations", 2),
        ("COUNT(*) FROM evenkeel_migrations", 13),
        ("COUNT(*) FROM evenkeel_locks", 0),
    ] {
        let found = DB::number(&mut connection, &format!("SELECT {what}")).await.unwrap();
        assert_eq!(found, Some(expected), "{what}");
    }
}

// shows: hazard S1, sql::run_migrations
async fn programs_started_at_once_run_their_migrations_once<DB: Sql>(_rig: Rig<DB>) {
    let empty = DB::fresh().await;
    start_at_once::<DB>(&empty.url).await;
    is_complete(&pool::<DB>(&empty.url, 1).await).await;
}

/// A database with the program's first migration, run by sqlx, whose format is the same; and with these of the library's.
pub(super) async fn make_older<DB: Sql>(url: &str, of_library: usize)
where
    DB::Connection: Migrate,
{
    let pool = pool::<DB>(url, 1).await;
    let mut first = former();
    first.dangerous_set_table_name(TABLE);
    first.run(&pool).await.unwrap();
    pool.close().await;
    make_older_library(url, of_library).await.unwrap();
}

/// The tables as one program makes them that starts alone.
pub(super) async fn right_schema<DB: Sql>() -> Vec<String> {
    let empty = DB::fresh().await;
    let pool = pool::<DB>(&empty.url, 1).await;
    start(&pool).await.unwrap();
    pool.close().await;
    described(&empty.url).await.unwrap()
}

/// The first migration was run by sqlx.
// shows: hazard S1
async fn programs_started_at_once_upgrade_an_older_schema<DB: Sql>(_rig: Rig<DB>)
where
    DB::Connection: Migrate,
{
    let older = DB::fresh().await;
    make_older::<DB>(&older.url, 2).await;
    let pool = pool::<DB>(&older.url, 1).await;
    start_at_once::<DB>(&older.url).await;
    is_complete(&pool).await;
    let mut again = both();
    again.dangerous_set_table_name(TABLE);
    again.run(&pool).await.unwrap();
}

// shows: sql::run_migrations
async fn database_with_a_later_migration_is_rejected<DB: Sql>(rig: Rig<DB>) {
    start(&rig.pool).await.unwrap();
    let error = run_migrations(&rig.pool, &migrator(&[GOODS]), TABLE).await.unwrap_err();
    assert!(matches!(error, SqlError::NewerSchema { found: 2, known: 1 }), "{error}");
    let error = run_migrations(&rig.pool, &migrator(&[GOODS, GOODS]), TABLE).await.unwrap_err();
    assert!(matches!(error, SqlError::Migration(_)) && error.to_string().contains("was changed"), "{error}");
}

/// However often the program starts, until the other table is out of the way.
// shows: hazard S2, sql::run_migrations
async fn table_of_another_program_is_not_taken_over<DB: Sql>(rig: Rig<DB>) {
    let mut connection = rig.pool.acquire().await.unwrap();
    DB::run(&mut connection, "CREATE TABLE places (other BIGINT)").await.unwrap();
    for _ in 0..2 {
        let error = start(&rig.pool).await.unwrap_err();
        assert!(matches!(error, SqlError::Database { .. }) && error.to_string().contains("places"), "{error}");
    }
    DB::run(&mut connection, "DROP TABLE places").await.unwrap();
    start(&rig.pool).await.unwrap();
    is_complete(&rig.pool).await;
}

#[tokio::test]
#[ignore = "a worker of the tests next to it"]
async fn program() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let url: String = station.receive().await.unwrap();
    match url.split_once(':').unwrap().0 {
        "sqlite" => start(&pool::<Sqlite>(&url, 1).await).await.unwrap(),
        "mysql" => start(&pool::<MySql>(&url, 1).await).await.unwrap(),
        _ => start(&pool::<Postgres>(&url, 1).await).await.unwrap(),
    }
    station.say("survived").unwrap();
}

/// Kill points that are tried at the same time, each on its own database.
const AT_ONCE: usize = 8;

/// Starts a program on an empty database that is killed at its n-th step, then one that is not; for every n.
async fn killed_at_each_step<DB: Sql>() {
    let mut kills = 0;
    loop {
        let points = (kills + 1..=kills + AT_ONCE).map(|point| survives_kill_at::<DB>(point));
        let survived = join_all(points).await;
        let killed = survived.iter().take_while(|survived| !**survived).count();
        assert!(
            survived[killed..].iter().all(|survived| *survived),
            "killed at a step that is not there: {survived:?}"
        );
        kills += killed;
        if killed < AT_ONCE {
            break;
        }
        assert!(kills < 100, "it never survives");
    }
    assert!(kills >= 20, "{kills} kills");
}

/// Whether the program has no such step. Either way the next one ends what it began.
async fn survives_kill_at<DB: Sql>(step: usize) -> bool {
    let empty = DB::fresh().await;
    let point = format!("migration_step:{step}");
    let mut worker =
        Worker::start_with("sql::work::tables::own_migrations::program", &[("EVENKEEL_CRASH_AT", &point)]).unwrap();
    worker.say(&empty.url).unwrap();
    let survived = worker.receive::<String>().await.is_ok();
    let pool = pool::<DB>(&empty.url, 1).await;
    start(&pool).await.unwrap_or_else(|error| panic!("after a kill at step {step}: {error}"));
    is_complete(&pool).await;
    survived
}

// shows: hazard S2, sql::run_migrations
#[tokio::test]
async fn sqlite_migration_resumes_after_a_kill_at_any_step() {
    killed_at_each_step::<Sqlite>().await;
}

// shows: hazard S2, sql::run_migrations
#[tokio::test]
async fn mariadb_migration_resumes_after_a_kill_at_any_step() {
    killed_at_each_step::<MySql>().await;
}

// shows: hazard S2, sql::run_migrations
#[tokio::test]
async fn postgres_migration_resumes_after_a_kill_at_any_step() {
    killed_at_each_step::<Postgres>().await;
}

/// Ten programs start at once, on an empty database and on an older one in turn. Half of them are killed at a moment of their first
/// second that the seed draws; the others start, and the schema is right.
async fn killed_at_random<DB: Sql>(seeds: Range<u64>)
where
    DB::Connection: Migrate,
{
    let right = right_schema::<DB>().await;
    for seed in seeds {
        let mut random = StdRng::seed_from_u64(seed);
        let database = DB::fresh().await;
        if seed % 2 == 1 {
            make_older::<DB>(&database.url, 1 + usize::try_from(seed / 2 % 6).unwrap()).await;
        }
        let programs: Vec<_> = (0..PROGRAMS)
            .map(|at| {
                let mut worker = Worker::start("sql::work::tables::own_migrations::program").unwrap();
                worker.say(&database.url).unwrap();
                let killed_after = Duration::from_millis(random.random_range(0..1_000));
                (worker, (at % 2 == 0).then_some(killed_after))
            })
            .collect();
        join_all(programs.into_iter().map(async |(mut worker, killed_after)| match killed_after {
            // An error is a worker that was quicker than its killer.
            Some(after) if tokio::time::timeout(after, worker.receive::<String>()).await.is_err() => {
                worker.process().kill().unwrap();
            }
            Some(_) => {}
            None => drop(worker.receive::<String>().await.unwrap_or_else(|error| panic!("seed {seed}: {error}"))),
        }))
        .await;
        is_complete(&pool::<DB>(&database.url, 1).await).await;
        assert_eq!(described(&database.url).await.unwrap(), right, "seed {seed}");
    }
}

// shows: U5, hazard S8
#[tokio::test]
async fn sqlite_migrations_with_random_kills_leave_one_schema() {
    killed_at_random::<Sqlite>(0..4).await;
}

// shows: U5, hazard S8
#[tokio::test]
async fn mariadb_migrations_with_random_kills_leave_one_schema() {
    killed_at_random::<MySql>(0..4).await;
}

// shows: U5, hazard S8
#[tokio::test]
async fn postgres_migrations_with_random_kills_leave_one_schema() {
    killed_at_random::<Postgres>(0..4).await;
}

#[tokio::test]
#[ignore = "a hundred rounds, with five kills each"]
async fn sqlite_migrations_killed_in_100_rounds_leave_one_schema() {
    killed_at_random::<Sqlite>(100..200).await;
}

#[tokio::test]
#[ignore = "a hundred rounds, with five kills each"]
async fn mariadb_migrations_killed_in_100_rounds_leave_one_schema() {
    killed_at_random::<MySql>(100..200).await;
}

#[tokio::test]
#[ignore = "a hundred rounds, with five kills each"]
async fn postgres_migrations_killed_in_100_rounds_leave_one_schema() {
    killed_at_random::<Postgres>(100..200).await;
}

/// The driver's own message ("unexpected null", or an endless wait) would not name what is missing.
// shows: hazard S9
#[tokio::test]
async fn mariadb_address_without_a_database_is_rejected() {
    let database = MySql::fresh().await;
    let (server, _) = database.url.rsplit_once('/').unwrap();
    let pool = pool::<MySql>(server, 1).await;
    for error in [run_migrations(&pool, &both(), TABLE).await.unwrap_err(), migrate(&pool).await.unwrap_err()] {
        assert!(
            matches!(error, SqlError::Migration(_)) && error.to_string().contains("has no database name"),
            "{error}"
        );
    }
}

/// What sqlx's runner leaves when it is killed: a migration that is noted as begun, and some of its statements executed.
// shows: hazard S2
#[tokio::test]
async fn mariadb_completes_a_half_done_sqlx_migration() {
    let statements: Vec<_> = GOODS.split_inclusive(';').collect();
    for executed in 0..=statements.len() {
        let database = MySql::fresh().await;
        let pool = pool::<MySql>(&database.url, 1).await;
        let mut none = migrator(&[]);
        none.dangerous_set_table_name(TABLE);
        none.run(&pool).await.unwrap();
        let mut connection = pool.acquire().await.unwrap();
        let begun = "INSERT INTO goods_migrations (version, description, success, checksum, execution_time) \
                     VALUES (1, 'goods', FALSE, '', -1)";
        MySql::run(&mut connection, begun).await.unwrap();
        let text: String = statements[..executed].concat();
        if text.ends_with("'tea;") {
            continue; // no end of a statement
        }
        if !text.is_empty() {
            MySql::run(&mut connection, &text).await.unwrap();
        }
        drop(connection);
        start(&pool).await.unwrap_or_else(|error| panic!("after {executed} statements: {error}"));
        is_complete(&pool).await;
    }
}
