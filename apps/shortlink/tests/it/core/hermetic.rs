//! What needs no server: SQLite.

use super::store_suite;
use shortlink::store::DatabaseUrl;

#[tokio::test]
async fn sqlite_store_keeps_its_promises() {
    let database = testkit::park::sqlite_database().unwrap();
    store_suite::run(&database.url.parse::<DatabaseUrl>().unwrap()).await;
}
