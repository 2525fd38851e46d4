//! The whole way: a row that a plain SQL session changes, and the entry of a cache.

use super::*;
use crate::rig::in_time;
use evenkeel::Keel;
use sqlx::MySqlPool;
use std::convert::Infallible;
use std::time::Duration;

// shows: D1
#[tokio::test]
async fn plain_sql_on_mariadb_reaches_the_cache() {
    in_time(async {
        let mut server = Server::start().await;
        server
            .run(&["CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20))", "INSERT INTO users VALUES (1, 'Ada')"])
            .await;
        let pool = MySqlPool::connect(&format!("{}/shop", server.maria.url())).await.unwrap();
        evenkeel::sql::migrate(&pool).await.unwrap();
        let keel = Keel::memory();
        let users = keel.cache::<i64, String>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
        let read = || async {
            let name = sqlx::query_scalar("SELECT name FROM users WHERE id = 1").fetch_optional(&pool).await.unwrap();
            let found = users.get(&1, |_| async { Ok::<Option<String>, Infallible>(name) }).await.unwrap();
            found.map(|name| name.to_string())
        };
        let source = server.source(&["users"]);
        let story = async {
            // The first checkpoint says that the reader has begun.
            while keel.cdc_admin("main", &pool).status().await.unwrap().is_none_or(|status| status.position.is_none()) {
                tokio::task::yield_now().await;
            }
            assert_eq!(read().await.as_deref(), Some("Ada"));
            server.run(&["UPDATE users SET name = 'Grace'"]).await;
            while read().await.as_deref() != Some("Grace") {
                tokio::task::yield_now().await;
            }
            server.run(&["DELETE FROM users"]).await;
            while read().await.is_some() {
                tokio::task::yield_now().await;
            }
        };
        let capture = keel.cdc("main", &pool, source).table("shop.users", |rule| rule.cache(&users).key("id"));
        capture.run(story).await.unwrap();
    })
    .await;
}
