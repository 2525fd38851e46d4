//! A database of a test's own on a shared server.

use super::{MARIADB_VARIABLE, POSTGRES_VARIABLE, own_name};
use crate::folder::Folder;
use crate::servers::{MariaDb, MariaDbOptions, Postgres, PostgresOptions, mariadb, postgres};
use anyhow::Result;
use std::time::Duration;

/// Short, because a leftover database does less harm than a test that hangs.
const DROP_TIMEOUT: Duration = Duration::from_secs(3);

/// Options of `CREATE DATABASE`.
const LATIN1: &str = " ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'";

/// An empty database that belongs to one test.
#[derive(Debug)]
pub struct Database {
    /// The address, including the name of the database.
    pub url: String,
    place: Place,
}

/// What is removed after the test. A server of the test's own ends with its databases.
#[derive(Debug)]
enum Place {
    Folder(#[expect(dead_code, reason = "kept for its Drop")] Folder),
    OwnMariaDb(#[expect(dead_code, reason = "kept for its Drop")] MariaDb),
    OwnPostgres(#[expect(dead_code, reason = "kept for its Drop")] Postgres),
    SharedMariaDb { server: String, name: String },
    SharedPostgres { server: String, name: String },
}

impl Database {
    /// An empty database on the MariaDB at `server` (an address without a database), dropped at the end if the server still responds.
    pub async fn on_mariadb(server: &str) -> Result<Database> {
        let name = own_name();
        mariadb::execute(server, &format!("CREATE DATABASE {name}")).await?;
        let url = format!("{server}/{name}");
        Ok(Database { url, place: Place::SharedMariaDb { server: server.to_owned(), name } })
    }

    /// An empty database on the PostgreSQL at `server` (an address with the database `postgres`), dropped at the end if the server still
    /// responds.
    pub async fn on_postgres(server: &str) -> Result<Database> {
        Self::on_postgres_with(server, "").await
    }

    async fn on_postgres_with(server: &str, options: &str) -> Result<Database> {
        let name = own_name();
        postgres::execute(server, &format!("CREATE DATABASE {name}{options}")).await?;
        let url = format!("{}/{name}", server.strip_suffix("/postgres").unwrap_or(server));
        Ok(Database { url, place: Place::SharedPostgres { server: server.to_owned(), name } })
    }
}

/// An empty database on the shared MariaDB; without a park, on a MariaDB of the test's own.
pub async fn mariadb_database() -> Result<Database> {
    if let Ok(server) = std::env::var(MARIADB_VARIABLE) {
        return Database::on_mariadb(&server).await;
    }
    let own = MariaDb::start(MariaDbOptions::new()).await?;
    own.execute("CREATE DATABASE own").await?;
    Ok(Database { url: own.database_url("own"), place: Place::OwnMariaDb(own) })
}

/// An empty database on the shared PostgreSQL; without a park, on a PostgreSQL of the test's own.
pub async fn postgres_database() -> Result<Database> {
    if let Ok(server) = std::env::var(POSTGRES_VARIABLE) {
        return Database::on_postgres(&server).await;
    }
    let own = Postgres::start(PostgresOptions::new()).await?;
    own.execute("CREATE DATABASE own").await?;
    Ok(Database { url: own.database_url("own"), place: Place::OwnPostgres(own) })
}

/// An empty database in the encoding LATIN1, in which most characters cannot be stored, on a server as [`postgres_database`].
pub async fn postgres_latin1_database() -> Result<Database> {
    if let Ok(server) = std::env::var(POSTGRES_VARIABLE) {
        return Database::on_postgres_with(&server, LATIN1).await;
    }
    let own = Postgres::start(PostgresOptions::new()).await?;
    own.execute(&format!("CREATE DATABASE own{LATIN1}")).await?;
    Ok(Database { url: own.database_url("own"), place: Place::OwnPostgres(own) })
}

/// A SQLite file in a temporary folder, created by the first client and deleted with the value.
pub fn sqlite_database() -> Result<Database> {
    let folder = Folder::temporary("sqlite", None)?;
    let file = folder.path().join("data.sqlite");
    Ok(Database { url: format!("sqlite:{}?mode=rwc", file.display()), place: Place::Folder(folder) })
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop_it: Box<dyn FnOnce() + Send> = match &self.place {
            Place::SharedMariaDb { server, name } => {
                let (server, statement) = (server.clone(), format!("DROP DATABASE {name}"));
                Box::new(move || within_timeout(mariadb::execute(&server, &statement)))
            }
            Place::SharedPostgres { server, name } => {
                let (server, statement) = (server.clone(), format!("DROP DATABASE {name} WITH (FORCE)"));
                Box::new(move || within_timeout(postgres::execute(&server, &statement)))
            }
            Place::Folder(_) | Place::OwnMariaDb(_) | Place::OwnPostgres(_) => return,
        };
        // A runtime cannot be entered inside another one, so a thread runs it.
        std::thread::spawn(drop_it).join().ok();
    }
}

fn within_timeout(statement: impl Future<Output = Result<()>>) {
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
        // On a timeout, the database lasts until the park ends.
        runtime.block_on(async { tokio::time::timeout(DROP_TIMEOUT, statement).await }).ok();
    }
}
