//! Redis as a child: its options, its signals, its end.

use crate::servers::client::{connect_within, ping};
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

#[tokio::test]
async fn started_server_replies_on_its_url() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    assert_eq!(ping(&redis.url()).await.unwrap(), "PONG");
}

#[tokio::test]
async fn paused_server_replies_after_resuming() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    redis.pause().unwrap();
    assert!(connect_within(Duration::from_millis(200), &redis.url()).await.is_err());
    redis.resume().unwrap();
    assert_eq!(ping(&redis.url()).await.unwrap(), "PONG");
}

#[tokio::test]
async fn restart_of_a_killed_server_keeps_port_and_data() {
    let mut redis = Redis::start(RedisOptions::new().append_only()).await.unwrap();
    let url = redis.url();
    redis.command::<()>(&["SET", "kept", "1"]).await.unwrap();
    redis.kill().unwrap();
    assert!(ping(&url).await.unwrap_err().is_connection_refusal());
    redis.restart().await.unwrap();
    assert_eq!(redis.url(), url);
    assert_eq!(ping(&url).await.unwrap(), "PONG");
    assert_eq!(redis.command::<String>(&["GET", "kept"]).await.unwrap(), "1");
}

#[tokio::test]
async fn restart_without_an_append_only_file_is_empty() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    redis.command::<()>(&["SET", "lost", "1"]).await.unwrap();
    redis.restart().await.unwrap();
    assert_eq!(redis.command::<Option<String>>(&["GET", "lost"]).await.unwrap(), None);
}

#[tokio::test]
async fn url_carries_the_user_and_others_are_rejected() {
    let options = RedisOptions::new().password("main").user("worker", "secret", "~* &* +@all");
    let redis = Redis::start(options).await.unwrap();
    assert_eq!(ping(&redis.url()).await.unwrap(), "PONG");
    let rejected = ping(&format!("redis://127.0.0.1:{}", redis.port())).await.unwrap_err();
    assert_eq!(rejected.code(), Some("NOAUTH"), "{rejected}");
    let wrong = ping(&format!("redis://worker:wrong@127.0.0.1:{}", redis.port())).await.unwrap_err();
    assert_eq!(wrong.kind(), redis::ErrorKind::AuthenticationFailed, "{wrong}");
    redis.command::<()>(&["CONFIG", "GET", "port"]).await.unwrap();
}

#[tokio::test]
async fn maxmemory_is_limited_as_configured() {
    let redis = Redis::start(RedisOptions::new().memory("2mb", "noeviction")).await.unwrap();
    let value = "x".repeat(100_000);
    let mut refused = None;
    for key in 0..40 {
        refused = refused.or(redis.command::<()>(&["SET", &key.to_string(), &value]).await.err());
    }
    let refused = refused.unwrap();
    assert!(format!("{refused:#}").contains("maxmemory"), "{refused:#}");
}

#[tokio::test]
async fn tls_server_presents_its_certificate() {
    let redis = Redis::start(RedisOptions::new().tls()).await.unwrap();
    assert!(redis.url().starts_with("rediss://"));
    let authority = redis.tls_authority();
    let verified = std::process::Command::new("openssl")
        .args(["s_client", "-verify_return_error", "-verify_ip", "127.0.0.1", "-CAfile", authority.to_str().unwrap()])
        .args(["-connect", &format!("127.0.0.1:{}", redis.port())])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    assert!(ping(&format!("redis://127.0.0.1:{}", redis.port())).await.is_err(), "plain text must be refused");
}

#[tokio::test]
async fn replica_follows_its_primary() {
    let master = Redis::start(RedisOptions::new()).await.unwrap();
    let replica = Redis::start(RedisOptions::new().replica_of(master.port())).await.unwrap();
    master.command::<()>(&["SET", "a", "1"]).await.unwrap();
    let copied = testkit::eventually("the replica has the key", || async {
        replica.command::<Option<String>>(&["GET", "a"]).await.ok().flatten()
    });
    assert_eq!(copied.await.unwrap(), "1");
}

#[tokio::test]
async fn failed_start_reports_its_reason() {
    let error = Redis::start(RedisOptions::new().arguments(["--no-such-directive", "1"])).await.unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("ended while it started") && error.contains("no-such-directive"), "{error}");
}
