//! The stores on real servers. What begins with `mariadb` also runs on the MySQL of the matrix.

use super::{store_suite, upgrade};
use testkit::park::{mariadb_database, postgres_database};

// shows: S8, S13, hazard S29, hazard S30
#[tokio::test]
async fn mariadb_store_passes_the_suite() {
    let database = mariadb_database().await.unwrap();
    store_suite::run(&database.url.parse().unwrap()).await;
}

// shows: S8, S13, hazard S29, hazard S30
#[tokio::test]
async fn postgres_store_passes_the_suite() {
    let database = postgres_database().await.unwrap();
    store_suite::run(&database.url.parse().unwrap()).await;
}

#[tokio::test]
async fn mariadb_first_schema_is_upgraded_with_its_links() {
    let database = mariadb_database().await.unwrap();
    upgrade::upgrades_first_schema(&database.url).await;
}

#[tokio::test]
async fn postgres_first_schema_is_upgraded_with_its_links() {
    let database = postgres_database().await.unwrap();
    upgrade::upgrades_first_schema(&database.url).await;
}
