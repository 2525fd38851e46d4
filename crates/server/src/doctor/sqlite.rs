//! The checks of a SQLite file. They do not create a missing file.

use super::report::Server;
use super::{schema, texts};
use crate::address::Address;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

/// Take and release the write lock. That needs write permission, space for a journal, and no other writer.
const WRITES: [&str; 3] = ["BEGIN IMMEDIATE", "CREATE TABLE evenkeel_doctor (id INTEGER PRIMARY KEY)", "ROLLBACK"];

pub(super) async fn examine(address: &Address, server: &mut Server) {
    let options = match SqliteConnectOptions::from_str(&address.url) {
        Ok(options) => options.create_if_missing(false),
        Err(error) => return server.fail("connect", error.to_string(), "use sqlite:FILE"),
    };
    let file = options.get_filename().to_owned();
    if !is_memory(&address.url) {
        if file.as_os_str().is_empty() {
            return server.fail("connect", "the address names no file", "use sqlite:FILE");
        }
        if file.is_dir() {
            return server.fail("connect", "it is a folder", "name a file in it, as in sqlite:FOLDER/FILE");
        }
        if !file.exists() {
            return absent(server, &file);
        }
        names(server, &file);
    }
    let mut connection = match options.connect().await {
        Ok(connection) => connection,
        Err(error) => return server.fail("connect", error.to_string(), "allow this user to read and write the file"),
    };
    server.reached = true;
    server.ok("connect", "opened");
    match sqlx::query("SELECT sqlite_version(), (SELECT journal_mode FROM pragma_journal_mode)")
        .fetch_one(&mut connection)
        .await
    {
        Ok(row) => {
            let [version, journal] = texts(&row, ["sqlite_version()", "journal_mode"], server);
            if let Some(version) = version {
                server.ok("version", format!("SQLite {version}"));
            }
            if let Some(journal) = journal {
                let remedy = "run PRAGMA journal_mode=WAL once: otherwise each write blocks all readers";
                server.advise(journal == "wal" || journal == "memory", "journal", journal, remedy);
            }
        }
        Err(error) => return server.fail("file", error.to_string(), "restore the file from a backup"),
    }
    if address.url.contains("mode=ro") || address.url.contains("immutable=") {
        server.fail(
            "permissions",
            "the address opens the file read-only",
            "remove `mode` and `immutable` from the address",
        );
    } else {
        permissions(server, &mut connection).await;
    }
    schema(address, server).await;
}

/// SQLite keeps the write-ahead log next to the name by which the file was opened, so that two names damage it.
fn names(server: &mut Server, file: &Path) {
    let count = std::fs::metadata(file).map_or(1, |known| known.nlink());
    if count > 1 {
        let remedy = "remove the other hard links: programs that open different names damage the file";
        server.fail("file", format!("it has {count} names (hard links)"), remedy);
    }
}

async fn permissions(server: &mut Server, connection: &mut SqliteConnection) {
    for statement in WRITES {
        if let Err(error) = sqlx::query(statement).execute(&mut *connection).await {
            let remedy = "allow this user to write the file and its folder, and stop other writers";
            return server.fail("permissions", error.to_string(), remedy);
        }
    }
    server.ok("permissions", "created a table and rolled it back");
}

fn is_memory(url: &str) -> bool {
    url.contains(":memory:") || url.contains("mode=memory")
}

fn absent(server: &mut Server, file: &Path) {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let remedy = "create the folder, or correct the address";
    server.reached = folder.is_dir();
    server.require(
        folder.is_dir(),
        "connect",
        if folder.is_dir() { "the file will be created on first use" } else { "the folder does not exist" },
        remedy,
    );
}
