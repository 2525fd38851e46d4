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

    /// (Q2) In the hour that a time zone repeats in autumn, a row of another language had a time an hour earlier, and its delayed job ran
    /// early.
    // shows: V13, hazard BW7
    #[tokio::test]
    async fn json_row_of_the_repeated_hour_has_its_own_time() {
        in_time(repeated_hour(Rig::open().await)).await;
    }

    /// The second 02:30 of a zone that leaves summer time at 03:00.
    async fn repeated_hour(rig: Rig<MySql>) {
        let pool = pool::<MySql>(&rig.database.url, 1).await;
        let mut connection = pool.acquire().await.unwrap();
        for row in [
            "time_zone (Time_zone_id, Use_leap_seconds) VALUES (7011, 'N')",
            "time_zone_name (Name, Time_zone_id) VALUES ('Test/Autumn', 7011)",
            "time_zone_transition_type (Time_zone_id, Transition_type_id, `Offset`, Is_DST, Abbreviation) \
             VALUES (7011, 0, 3600, 0, 'CET'), (7011, 1, 7200, 1, 'CEST')",
            "time_zone_transition (Time_zone_id, Transition_time, Transition_type_id) \
             VALUES (7011, 1774746000, 1), (7011, 1792890000, 0)",
        ] {
            MySql::run(&mut connection, &format!("INSERT IGNORE INTO mysql.{row}")).await.unwrap();
        }
        MySql::run(&mut connection, "SET time_zone = 'Test/Autumn', timestamp = 1792891800.25").await.unwrap();
        MySql::run(&mut connection, "INSERT INTO evenkeel_outbox_json (effects) VALUES ('[]')").await.unwrap();
        let created = "SELECT created_at FROM evenkeel_outbox_json";
        assert_eq!(MySql::number(&mut connection, created).await.unwrap(), Some(1_792_891_800_250));
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
