//! Every text that a form sends to a database: the same answer on each, which is never an error of the console.

use super::server::Console;
use evenkeel::sql::migrate;
use sqlx::{MySqlPool, PgPool, SqlitePool};
use testkit::park::{mariadb_database, postgres_database, sqlite_database};
use testkit::texts::{TextRequest, of_form};

fn requests() -> Vec<TextRequest> {
    let key = [("topic", "links"), ("key", "a"), ("confirm", "links")];
    let message = [("group", "accounts"), ("message", "37"), ("confirm", "accounts")];
    let work = [("work", "00000000-0000-7000-8000-000000000001")];
    let forms = [
        of_form("/outbox/resend", &key[..2]),
        of_form("/outbox/skip", &key),
        of_form("/outbox/resend", &work),
        of_form("/inbox/resend", &message[..2]),
        of_form("/inbox/skip", &message),
    ];
    forms.concat()
}

// shows: hazard T29
#[tokio::test]
async fn every_text_of_the_outbox_has_one_answer_on_sqlite_mariadb_and_postgres() {
    let sqlite = sqlite_database().unwrap();
    let (mariadb, postgres) = (mariadb_database().await.unwrap(), postgres_database().await.unwrap());
    migrate(&SqlitePool::connect(&sqlite.url).await.unwrap()).await.unwrap();
    migrate(&MySqlPool::connect(&mariadb.url).await.unwrap()).await.unwrap();
    migrate(&PgPool::connect(&postgres.url).await.unwrap()).await.unwrap();
    let mut consoles = Vec::new();
    for url in [&sqlite.url, &mariadb.url, &postgres.url] {
        let console = Console::start_with(false, Some(url)).await;
        let visit = console.visit("/queues/mail", "").await;
        consoles.push((console, visit));
    }
    for request in requests() {
        let fields = String::from_utf8(request.body.clone()).unwrap();
        let mut answers = Vec::new();
        for (console, (cookie, csrf)) in &consoles {
            let body = format!("csrf={csrf}&{fields}");
            let sent = console.send("POST", &request.path, &console.form(cookie), &body).await;
            assert!((400..500).contains(&sent.status), "{request:?}: {} {}", sent.status, sent.text);
            answers.push(sent.status);
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{request:?}: {answers:?}");
    }
}
