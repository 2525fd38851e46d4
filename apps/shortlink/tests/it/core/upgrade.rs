//! A database with the first released schema is upgraded with its links.

use super::store_suite::{RecordingHook, open_with_hook};
use evenkeel::testing::TestClock;
use shortlink::domain::{Code, LinkPatch};
use sqlx::migrate::Migrator;
use sqlx::{AssertSqlSafe, MySqlPool, PgPool, SqlitePool};
use std::path::Path;
use std::sync::Arc;

/// A link of the first schema with an expiry, an expired one, and one without an expiry.
const LINKS: &str =
    "INSERT INTO links (code, target, target_hash, alias, created_at, updated_at, expires_at, version) VALUES
    ('ends', 'https://example.com/1', {hash}, TRUE, 1000, 1000, 4102444800000, 42),
    ('over', 'https://example.com/2', {hash}, TRUE, 1000, 1000, 2000, 43),
    ('endless', 'https://example.com/3', {hash}, TRUE, 1000, 1000, NULL, 44)";

/// The migrations up to the first one.
pub(super) async fn first(kind: &str) -> Migrator {
    let kind = if kind == "mariadb" { "mysql" } else { kind };
    let folder = tempfile::tempdir().unwrap();
    let name = "0001_links.sql";
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(kind).join(name);
    std::fs::copy(from, folder.path().join(name)).unwrap();
    let mut migrator = Migrator::new(folder.path()).await.unwrap();
    migrator.dangerous_set_table_name("link_migrations");
    migrator
}

macro_rules! make_former {
    ($pool:ty, $kind:literal, $url:expr, $hash:literal) => {{
        let pool = <$pool>::connect($url).await.unwrap();
        first($kind).await.run(&pool).await.unwrap();
        let links = LINKS.replace("{hash}", $hash);
        sqlx::query(AssertSqlSafe(links)).execute(&pool).await.unwrap();
        pool.close().await;
    }};
}

/// Creates a database with the first schema.
pub(super) async fn former(url: &str) {
    match url.split_once(':').unwrap().0 {
        "sqlite" => make_former!(SqlitePool, "sqlite", url, "x'00000000000000000000000000000000'"),
        "mysql" => make_former!(MySqlPool, "mysql", url, "x'00000000000000000000000000000000'"),
        _ => make_former!(PgPool, "postgres", url, "'\\x00000000000000000000000000000000'"),
    }
}

/// No link is lost, and links with an expiry get the jobs that the first version kept elsewhere: once, however often it starts.
pub(super) async fn upgrades_first_schema(url: &str) {
    former(url).await;
    let (clock, hook) = (TestClock::default(), Arc::new(RecordingHook::default()));
    let store = open_with_hook(&url.parse().unwrap(), &clock, Arc::clone(&hook)).await;
    let ends = store.find(&Code::alias("ends").unwrap()).await.unwrap().unwrap();
    assert_eq!((ends.target.as_str(), ends.version, ends.banned), ("https://example.com/1", 42, false));
    assert_eq!(store.enqueue_missing_expiry_jobs().await.unwrap(), 1);
    let ban = LinkPatch { banned: Some(true), ..LinkPatch::default() };
    assert!(store.patch(&ends.code, &ban, Some(42)).await.unwrap().unwrap().value.banned);
    store.close().await;

    let store = open_with_hook(&url.parse().unwrap(), &clock, Arc::clone(&hook)).await;
    assert_eq!(store.enqueue_missing_expiry_jobs().await.unwrap(), 0);
    assert_eq!(store.rows_after(0, 10).await.unwrap().len(), 3);
    assert_eq!(hook.changes(), ["missing job ends", "changed ends false"]);
    store.close().await;
}
