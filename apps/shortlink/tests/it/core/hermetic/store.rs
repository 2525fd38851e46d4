//! The store on SQLite.

use crate::core::{store_suite, upgrade};

// shows: S8, hazard S29, hazard S30
#[tokio::test]
async fn sqlite_store_passes_the_suite() {
    let database = testkit::park::sqlite_database().unwrap();
    store_suite::run(&database.url.parse().unwrap()).await;
}

#[tokio::test]
async fn sqlite_first_schema_is_upgraded_with_its_links() {
    let database = testkit::park::sqlite_database().unwrap();
    upgrade::upgrades_first_schema(&database.url).await;
}
