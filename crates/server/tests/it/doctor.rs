//! `doctor` against real servers, healthy and misconfigured.

use crate::program::{Ran, evenkeel, normal};
use testkit::servers::{OldRedis, Redis, RedisOptions};

/// Runs `doctor` on one address.
async fn doctor(url: &str) -> Ran {
    let url = url.to_owned();
    let ran = tokio::task::spawn_blocking(move || evenkeel(&["doctor", &url])).await.unwrap();
    Ran { out: normal(&ran.out), ..ran }
}

#[tokio::test]
async fn healthy_redis_passes() {
    let redis = Redis::start(RedisOptions::new().memory("64mb", "volatile-lfu")).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    insta::assert_snapshot!(ran.out);
}

#[tokio::test]
async fn replica_fails() {
    let primary = Redis::start(RedisOptions::new()).await.unwrap();
    let replica = Redis::start(RedisOptions::new().replica_of(primary.port())).await.unwrap();
    let ran = doctor(&replica.url()).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    insta::assert_snapshot!(ran.out.replace(&format!(":{}", primary.port()), ":PORT"));
}

#[tokio::test]
async fn missing_scripting_permission_fails_with_acl_rules() {
    let options = RedisOptions::new().user("app", "hidden", "~* &* +@all -@scripting -config");
    let redis = Redis::start(options).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(!ran.out.contains("hidden"));
    insta::assert_snapshot!(ran.out);
}

#[tokio::test]
async fn missing_capability_permissions_warn_with_acl_rules() {
    let options = RedisOptions::new().user("app", "hidden", "~* &* +@all -exists -scan -client|unblock -xadd -config");
    let redis = Redis::start(options).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    insta::assert_snapshot!(ran.out);
}

/// The ACL rules in docs/operations.md suffice for everything but CONFIG GET.
#[tokio::test]
async fn documented_acl_rules_suffice() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md")).unwrap();
    let rules = page.lines().find_map(|line| line.strip_prefix("ACL SETUSER app on >password ")).unwrap();
    let redis = Redis::start(RedisOptions::new().user("app", "password", rules)).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    let warnings: Vec<&str> = ran.out.lines().filter(|line| !line.starts_with("  ok ")).collect();
    assert!(
        matches!(warnings.as_slice(), [memory, tracking] if memory.contains("memory") && tracking.contains("CONFIG GET")),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn wrong_password_fails_and_is_not_printed() {
    let redis = Redis::start(RedisOptions::new().password("right")).await.unwrap();
    let url = redis.url().replace(":right@", ":mistaken@");
    let ran = doctor(&url).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(!ran.out.contains("mistaken") && !ran.err.contains("mistaken"));
    insta::assert_snapshot!(ran.out);
}

#[tokio::test]
async fn server_without_hello_fails_with_required_version() {
    let redis = Redis::start(RedisOptions::new().arguments(["--rename-command", "HELLO", ""])).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("use Redis 7.0 or Valkey 7.2 or later") && !ran.out.contains("password"), "{}", ran.out);
}

#[tokio::test]
async fn redis_6_fails_with_required_version() {
    let redis = OldRedis::start("6.2.14").await.unwrap();
    let url = redis.url();
    let ran = tokio::task::spawn_blocking(move || evenkeel(&["doctor", &url])).await.unwrap();
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(
        ran.out.contains("Redis 6.2.14") && ran.out.contains("use Redis 7.0 or Valkey 7.2 or later"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("password") && !ran.out.contains("syntax"), "{}", ran.out);
}

#[tokio::test]
async fn healthy_databases_pass() {
    let maria = testkit::park::mariadb_database().await.unwrap();
    let ran = doctor(&maria.url).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    insta::assert_snapshot!("mariadb", without_name(&ran.out, &maria.url));

    let postgres = testkit::park::postgres_database().await.unwrap();
    let ran = doctor(&postgres.url).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    insta::assert_snapshot!("postgres", without_name(&ran.out, &postgres.url));
}

/// Replaces the generated name of the database.
fn without_name(text: &str, url: &str) -> String {
    let name = url.rsplit('/').next().unwrap();
    text.replace(&format!("database      {name}\n"), "database      NAME\n")
}

#[tokio::test]
async fn json_report_has_the_same_verdicts() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let url = redis.url();
    let ran = tokio::task::spawn_blocking(move || evenkeel(&["doctor", "--json", &url])).await.unwrap();
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &report["fail"]), (0, &serde_json::json!(0)));
    let checks = report["servers"][0]["checks"].as_array().unwrap();
    let memory = checks.iter().find(|check| check["check"] == "memory").unwrap();
    assert_eq!((&memory["verdict"], &memory["found"]), (&serde_json::json!("warn"), &serde_json::json!("no limit")));
    assert!(memory["remedy"].as_str().unwrap().contains("maxmemory"));
}
