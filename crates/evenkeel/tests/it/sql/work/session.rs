//! Settings of a session that change what the end of a transaction does. (On databases that have them.)

use crate::sql::rig::{Rig, Sql};
use sqlx::MySql;
use sqlx::mysql::{MySqlPool, MySqlPoolOptions};

/// A pool of one connection, whose session has this setting.
async fn pool_with(rig: &Rig<MySql>, set: &'static str) -> MySqlPool {
    let options = MySqlPoolOptions::new().max_connections(1).test_before_acquire(false);
    let options = options.after_connect(move |connection, _| {
        Box::pin(async move { sqlx::raw_sql(set).execute(connection).await.map(drop) })
    });
    options.connect(&rig.database.url).await.unwrap()
}

async fn sell(pool: &MySqlPool) {
    MySql::run(&mut pool.acquire().await.unwrap(), "UPDATE stock SET units = units - 1 WHERE id = 1").await.unwrap();
}

/// With `completion_type = CHAIN` a commit began another transaction, in which the next borrower of the connection worked: its statements were
/// never committed. With `RELEASE` the server closed the connection under its next borrower.
// shows: U1, hazard T32
#[tokio::test]
async fn end_of_a_transaction_is_only_that_whatever_the_completion_type() {
    for set in ["SET completion_type = 'CHAIN'", "SET completion_type = 'RELEASE'"] {
        let rig = Rig::<MySql>::open().await;
        let pool = pool_with(&rig, set).await;
        let session = async || {
            MySql::number(&mut pool.acquire().await.unwrap(), "SELECT CAST(CONNECTION_ID() AS SIGNED)").await.unwrap()
        };
        let first = session().await;
        let mut work = rig.keel.begin(&pool).await.unwrap();
        MySql::run(work.tx(), "UPDATE stock SET units = 5 WHERE id = 1").await.unwrap();
        work.commit().await.unwrap();
        sell(&pool).await;
        assert_eq!(rig.units().await, 4, "{set}: after a commit");
        let mut work = rig.keel.begin_with(&pool, "START TRANSACTION READ WRITE").await.unwrap();
        MySql::run(work.tx(), "UPDATE stock SET units = 0 WHERE id = 1").await.unwrap();
        work.rollback().await.unwrap();
        sell(&pool).await;
        assert_eq!(rig.units().await, 3, "{set}: after a rollback");
        drop(rig.keel.begin(&pool).await.unwrap());
        sell(&pool).await;
        assert_eq!(rig.units().await, 2, "{set}: after a unit of work was dropped");
        assert_eq!(session().await, first, "{set}: the connection was not closed");
    }
}
