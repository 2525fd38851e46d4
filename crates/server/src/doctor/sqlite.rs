//! What Evenkeel needs of a SQLite file. A file that does not exist yet is not made.

use super::address::Address;
use super::report::Server;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row, SqliteConnection};
use std::path::Path;
use std::str::FromStr;

pub(super) async fn examine(address: &Address, server: &mut Server) {
    let options = match SqliteConnectOptions::from_str(&address.url) {
        Ok(options) => options.create_if_missing(false),
        Err(error) => return server.fail("reach", error.to_string(), "write sqlite:FILE"),
    };
    let file = options.get_filename().to_owned();
    if !is_memory(&address.url) && !file.exists() {
        return absent(server, &file);
    }
    let mut connection = match options.connect().await {
        Ok(connection) => connection,
        Err(error) => return server.fail("reach", error.to_string(), "let this user read and write the file"),
    };
    server.reached = true;
    server.ok("reach", "opens");
    match sqlx::query("SELECT sqlite_version(), (SELECT journal_mode FROM pragma_journal_mode)")
        .fetch_one(&mut connection)
        .await
    {
        Ok(row) => {
            server.ok("version", format!("SQLite {}", row.try_get::<String, _>(0).unwrap_or_default()));
            let journal: String = row.try_get(1).unwrap_or_default();
            let remedy = "run PRAGMA journal_mode=WAL once: otherwise every write stops the readers";
            server.advise(journal == "wal" || journal == "memory", "journal", journal, remedy);
        }
        Err(error) => return server.fail("file", error.to_string(), "restore the file from a backup"),
    }
    writable(server, &mut connection).await;
}

fn is_memory(url: &str) -> bool {
    url.contains(":memory:") || url.contains("mode=memory")
}

fn absent(server: &mut Server, file: &Path) {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let remedy = "make the folder, or correct the address";
    server.reached = folder.is_dir();
    server.judge(
        folder.is_dir(),
        "reach",
        if folder.is_dir() { "the file will be made on first use" } else { "the folder does not exist" },
        remedy,
    );
}

/// Takes the write lock and gives it back: that needs the permission, the space for a journal, and nobody who holds it.
async fn writable(server: &mut Server, connection: &mut SqliteConnection) {
    let taken = async {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
        sqlx::query("CREATE TABLE evenkeel_doctor (id INTEGER PRIMARY KEY)").execute(&mut *connection).await?;
        sqlx::query("ROLLBACK").execute(&mut *connection).await
    };
    match taken.await {
        Ok(_) => server.ok("permission", "a table was made and taken back"),
        Err(error) => server.fail(
            "permission",
            error.to_string(),
            "let this user write the file and its folder, and end other writers",
        ),
    }
}
