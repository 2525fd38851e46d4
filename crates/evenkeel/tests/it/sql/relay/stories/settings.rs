//! Settings of the server or of the pool with which no relay can work. (On databases that have them.)

use super::recorder::Recorder;
use super::stage::Stage;
use evenkeel::sql::SqlError;
use evenkeel::sql::sink::Sinks;
use sqlx::mysql::MySqlPoolOptions;

/// With `autocommit = 0` the marks of a relay were never committed, and its rows stayed locked; with `completion_type = CHAIN` each commit
/// began a transaction in which the next borrower of the connection worked. Nothing said so.
// shows: hazard BW9, hazard T22, sql::Relay::run_once
#[tokio::test]
async fn relay_names_the_setting_that_it_cannot_work_with() {
    let stage = Stage::set().await;
    stage.publish("a", "a1").await;
    stage.publish_unordered("u").await;
    stage.due().await;
    let sink = Recorder::new();
    for (set, remedy) in [
        ("SET autocommit = 0", "`SET GLOBAL autocommit = 1`"),
        ("SET completion_type = 'CHAIN'", "`SET GLOBAL completion_type = 'NO_CHAIN'`"),
        ("SET sql_select_limit = 1", "`SET GLOBAL sql_select_limit = DEFAULT`"),
        ("SET sql_mode = 'ORACLE'", "`SET GLOBAL sql_mode = DEFAULT`"),
    ] {
        let options = MySqlPoolOptions::new().max_connections(1).after_connect(move |connection, _| {
            Box::pin(async move { sqlx::raw_sql(set).execute(connection).await.map(drop) })
        });
        let pool = options.connect(&stage.database.url).await.unwrap();
        let relay = stage.keel.another_process().relay(&pool).sinks(Sinks::to(sink.clone()));
        let refused = relay.run_once().await.unwrap_err();
        assert!(matches!(&refused, SqlError::Settings(text) if text.contains(remedy)), "{refused}");
        pool.close().await;
    }
    assert_eq!(sink.calls(), 0);
    stage.drain(&stage.relay(&sink)).await;
    assert_eq!(sink.taken().len(), 2);
}
