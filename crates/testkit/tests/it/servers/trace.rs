//! The trace shows every command of clients and scripts, and nothing of the kit's own.

use crate::servers::client::connect;
use testkit::CommandTrace;
use testkit::servers::{Redis, RedisOptions};

#[tokio::test]
async fn trace_shows_new_commands_of_clients_and_scripts() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let mut client = connect(&redis.url()).await.unwrap();
    let mut trace = CommandTrace::start(&redis).await.unwrap();
    redis::cmd("GET").arg("ns:a").query_async::<()>(&mut client).await.unwrap();
    redis.command::<()>(&["SET", "ns:own", "1"]).await.unwrap();
    redis::cmd("EVAL")
        .arg("return redis.call('GET', KEYS[1])")
        .arg(1)
        .arg("other")
        .query_async::<()>(&mut client)
        .await
        .unwrap();
    let seen = trace.take(&redis).await.unwrap();
    assert_eq!(seen.names(), ["GET", "EVAL", "GET"]);
    assert_eq!(seen.count("get"), 2);
    assert_eq!(seen.from_clients().names(), ["GET", "EVAL"]);
    assert_eq!(seen.on_prefix("ns:").names(), ["GET"]);
    assert!(trace.take(&redis).await.unwrap().0.is_empty());
}

#[tokio::test]
async fn trace_works_on_a_password_protected_server() {
    let redis = Redis::start(RedisOptions::new().password("main")).await.unwrap();
    let mut trace = CommandTrace::start(&redis).await.unwrap();
    let mut client = connect(&redis.url()).await.unwrap();
    redis::cmd("DBSIZE").query_async::<()>(&mut client).await.unwrap();
    assert_eq!(trace.take(&redis).await.unwrap().count("DBSIZE"), 1);
}
