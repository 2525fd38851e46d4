//! The store on SQLite.

use crate::core::{store_suite, upgrade};

#[tokio::test]
async fn sqlite_store_keeps_its_promises() {
    let database = testkit::park::sqlite_database().unwrap();
    store_suite::run(&database.url.parse().unwrap()).await;
}

#[tokio::test]
async fn sqlite_of_the_former_schema_is_brought_up_to_date() {
    let database = testkit::park::sqlite_database().unwrap();
    upgrade::sqlite(&database.url).await;
}
