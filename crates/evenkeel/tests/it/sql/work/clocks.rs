//! The clock that dates the rows of units of work.

/// MySQL and MariaDB return the time of the statement without a detour through dates: neither the session's time zone nor an
/// earlier plan changes it.
mod mariadb {
    use crate::sql::rig::{Rig, Sql, in_time, pool};
    use evenkeel::sql::Message;
    use sqlx::MySql;

    #[tokio::test]
    async fn row_has_the_time_of_its_statement() {
        in_time(story(Rig::open().await)).await;
    }

    async fn story(rig: Rig<MySql>) {
        // One connection, which keeps what it prepared.
        let pool = pool::<MySql>(&rig.database.url, 1).await;
        for (seconds, ms) in [("1700000000.25", 1_700_000_000_250), ("1800000000.5004", 1_800_000_000_500)] {
            // Short effects are a part of the statement's text, long ones are not.
            for length in [1, 20_000] {
                let mut work = rig.keel.begin(&pool).await.unwrap();
                let set = format!("SET timestamp = {seconds}, time_zone = '+05:00'");
                MySql::run(work.tx(), &set).await.unwrap();
                work.publish(Message::new("orders", "'".repeat(length))).unwrap();
                work.commit().await.unwrap();
                let created = rig.number("SELECT created_at FROM evenkeel_outbox").await;
                let due_in = rig.number("SELECT due_at - created_at FROM evenkeel_outbox").await;
                assert_eq!((created, due_in), (ms, 2_000), "{length}");
                MySql::run(&mut pool.acquire().await.unwrap(), "DELETE FROM evenkeel_outbox").await.unwrap();
            }
        }
    }
}
