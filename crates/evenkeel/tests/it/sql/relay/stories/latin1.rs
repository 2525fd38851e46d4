//! A database with another encoding than UTF-8.

use super::recorder::Recorder;
use super::stage::Stage;
use evenkeel::sql::migrate;
use evenkeel::sql::sink::SinkError;

/// The database rejected the text of an error, and with it the results of the whole batch, again and again.
// shows: hazard BW8
#[tokio::test]
async fn error_that_the_database_cannot_store_stops_no_batch() {
    let mut stage = Stage::set().await;
    let (server, name) = stage.database.url.rsplit_once('/').unwrap();
    let latin1 = format!("{}_latin1", name.split('?').next().unwrap());
    let create = format!("CREATE DATABASE {latin1} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    stage.sql(&create).await;
    stage.pool = super::pool(&format!("{server}/{latin1}")).await;
    migrate(&stage.pool).await.unwrap();
    let sink = Recorder::new();
    sink.answer(|envelope| match &envelope.payload[..] {
        b"sick" => Err(SinkError::Retry("\u{1f600} nein, Müller".to_owned())),
        _ => Ok(evenkeel::sql::sink::Confirmed::Accepted),
    });
    for words in ["sick", "well"] {
        stage.publish(words, words).await;
        stage.publish_unordered(words).await;
    }
    stage.due().await;
    let looked = stage.relay(&sink).run_once().await.unwrap();
    assert_eq!((looked.failed, looked.carried, looked.sent), (2, 1, 1));
    for table in ["evenkeel_outbox", "evenkeel_outbox_keys"] {
        let readable = format!(r"SELECT COUNT(*) FROM {table} WHERE error LIKE '%u{{1f600}} nein, M_u{{fc}}ller%'");
        assert_eq!(stage.number(&readable).await, 1, "{table}");
    }
    stage.pool.close().await;
    let server = super::pool(&stage.database.url).await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("DROP DATABASE {latin1} WITH (FORCE)"))).execute(&server).await.unwrap();
}
