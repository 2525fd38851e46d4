//! The errors of a Redlock about servers that reject the program, or are not Redis.

use crate::lock::side::rig::in_time;
use evenkeel::lock::{LockError, Redlock};
use testkit::servers::{OldRedis, Redis, RedisOptions};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

/// Two servers of three reject the program: no majority is left.
async fn error(urls: [&str; 3]) -> (LockError, LockError) {
    let connected = Redlock::connect(&urls).await.err().expect("a majority was reached");
    let lazy = Redlock::connect_lazy(&urls).await.err().unwrap_or_else(|| connected.clone());
    (connected, lazy)
}

fn host(url: &str) -> &str {
    url.rsplit(['@', '/']).next().unwrap()
}

/// The error was "no quorum: the others are away".
// shows: hazard AL15, lock::Redlock::connect_lazy, lock::RedlockBuilder::connect_lazy
#[tokio::test]
async fn wrong_password_error_names_the_server() {
    Box::pin(in_time(async {
        let start = || Redis::start(RedisOptions::new().password("right"));
        let (one, two, three) = tokio::try_join!(start(), start(), start()).unwrap();
        let wrong = |redis: &Redis| redis.url().replace(":right@", ":mistaken@");
        let none = three.url().replace(":right@", "");
        let (first, third) = (wrong(&one), three.url());
        let (refused, lazy) = error([&first, &none, &two.url()]).await;
        for error in [refused, lazy] {
            let text = error.to_string();
            assert!(matches!(error, LockError::NoQuorum { taking_part: 1, needed: 2, servers: 3, .. }), "{text}");
            assert!(text.contains(&format!("{}: Redis refused: WRONGPASS", host(&first))), "{text}");
            assert!(text.contains(&format!("{}: Redis refused: NOAUTH a password is needed", host(&none))), "{text}");
            assert!(!text.contains("mistaken") && !text.contains(host(&two.url())), "{text}");
            assert!(!error.is_retryable(), "{text}");
        }
        // One rejecting server leaves a majority of an open Redlock.
        let all = [one.url(), two.url(), three.url()];
        Redlock::connect(&all.each_ref().map(String::as_str)).await.unwrap();
        let redlock = Redlock::connect(&[&first, &two.url(), &third]).await.unwrap();
        redlock.lock("a").acquire().await.unwrap().release().await.unwrap();
    }))
    .await;
}

// shows: hazard AL15, lock::Redlock::connect_lazy, lock::RedlockBuilder::connect_lazy
#[tokio::test]
async fn server_other_than_redis_is_named_in_the_error() {
    Box::pin(in_time(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let http = format!("redis://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok();
            }
        });
        let (redis, old) = (Redis::start(RedisOptions::new()).await.unwrap(), OldRedis::start("6.2.14").await.unwrap());
        let (refused, _) = error([&redis.url(), &http, &old.url()]).await;
        let text = refused.to_string();
        assert!(text.contains(&format!("{}: the server is an HTTP server, not Redis", host(&http))), "{text}");
        assert!(
            text.contains(&format!("{}: it is version 6.2.14; Evenkeel needs Redis 7.0", host(&old.url()))),
            "{text}"
        );
        // A Redis may replace the program that answers at the wrong address: a majority is still possible.
        assert!(refused.is_retryable(), "{text}");
    }))
    .await;
}
