//! A database of another version of the program.

use crate::core::program::Place;
use sqlx::{Connection, SqliteConnection};

async fn change(place: &Place, statement: &'static str) {
    let url = format!("sqlite:{}", place.path("shortlink-data/links.db").display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn with_a_link() -> Place {
    let place = Place::new();
    place.write("in.tsv", "target\nhttps://example.com/\n");
    place.succeed(&["import", "in.tsv"]);
    place
}

/// A newer version has changed the schema in ways this one cannot know; it must not write there, nor read it wrongly.
#[tokio::test]
async fn a_newer_schema_is_refused() {
    let place = with_a_link();
    change(
        &place,
        "INSERT INTO link_migrations (version, description, success, checksum, execution_time)
        VALUES (99, 'from the future', TRUE, x'00', 0)",
    )
    .await;
    let known = "the database has schema version 99, made by a newer shortlink; this one knows up to version 2";
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["import", "in.tsv"], &["export", "out.tsv"]] {
        let why = place.refuse(arguments);
        assert!(why.contains(known), "{why}");
    }
}

#[tokio::test]
async fn an_older_schema_is_brought_up_to_date_by_those_who_write() {
    let place = with_a_link();
    for drop in [
        "DROP TABLE link_migrations",
        "DROP TABLE links",
        "DROP TABLE link_settings",
        "DROP TABLE link_sequences",
        "DROP TABLE link_imports",
        "DROP TABLE link_spools",
        "DROP TABLE link_conflicts",
    ] {
        change(&place, drop).await;
    }
    let why = place.refuse(&["export", "out.tsv"]);
    assert!(why.contains("schema version 0, and 2 is needed; shortlink serve brings it up to date"), "{why}");
    place.succeed(&["import", "in.tsv"]);
    assert_eq!(place.succeed(&["export", "out.tsv"]), "1 link written to out.tsv\n");
}
