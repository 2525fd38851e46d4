//! Databases of other versions of the program.

use crate::core::program::Workdir;
use sqlx::{Connection, SqliteConnection};

async fn change(dir: &Workdir, statement: &'static str) {
    let url = format!("sqlite:{}", dir.path("shortlink-data/links.db").display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn with_a_link() -> Workdir {
    let dir = Workdir::new();
    dir.write("in.tsv", "target\nhttps://example.com/\n");
    dir.succeed(&["import", "in.tsv"]);
    dir
}

/// A newer version may have changed the schema in unknown ways, so this one must neither write nor read it.
#[tokio::test]
async fn newer_schema_is_refused() {
    let dir = with_a_link();
    change(
        &dir,
        "INSERT INTO link_migrations (version, description, success, checksum, execution_time)
        VALUES (99, 'from the future', TRUE, x'00', 0)",
    )
    .await;
    let known = "the schema (version 99) was made by a newer shortlink; this one knows version 3: update this program";
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["import", "in.tsv"], &["export", "out.tsv"]] {
        let why = dir.refuse(arguments);
        assert!(why.contains(known), "{why}");
    }
}

#[tokio::test]
async fn older_schema_is_upgraded_by_writers_only() {
    let dir = with_a_link();
    for drop in [
        "DROP TABLE link_migrations",
        "DROP TABLE links",
        "DROP TABLE link_settings",
        "DROP TABLE link_sequences",
        "DROP TABLE link_imports",
        "DROP TABLE link_spools",
        "DROP TABLE link_conflicts",
        "DROP TABLE link_clicks",
    ] {
        change(&dir, drop).await;
    }
    let why = dir.refuse(&["export", "out.tsv"]);
    assert!(
        why.contains("the schema has version 0; this program needs version 3: `shortlink serve` upgrades it"),
        "{why}"
    );
    dir.succeed(&["import", "in.tsv"]);
    assert_eq!(dir.succeed(&["export", "out.tsv"]), "1 link written to out.tsv\n");
}
