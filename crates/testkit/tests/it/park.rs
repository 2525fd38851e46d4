//! A test's own corner of the shared servers.

use testkit::park;

#[tokio::test]
async fn two_tests_on_one_redis_have_different_prefixes() {
    let (first, second) = (park::redis().await.unwrap(), park::redis().await.unwrap());
    assert_ne!(first.prefix, second.prefix);
    let client = redis::Client::open(first.url.as_str()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let answer: String = redis::cmd("PING").query_async(&mut connection).await.unwrap();
    assert_eq!(answer, "PONG");
}
