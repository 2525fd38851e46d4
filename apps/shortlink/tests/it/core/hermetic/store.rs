//! The store on SQLite.

use crate::core::store_suite;

#[tokio::test]
async fn sqlite_store_keeps_its_promises() {
    let database = testkit::park::sqlite_database().unwrap();
    store_suite::run(&database.url.parse().unwrap()).await;
}
