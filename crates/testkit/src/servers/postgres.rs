//! PostgreSQL as a child process.

use super::instance::{Instance, control_methods};
use super::port::Port;
use super::program::Program;
use super::user::{User, let_through};
use super::{readiness, template};
use crate::folder::Folder;
use crate::process::Launch;
use anyhow::{Result, ensure};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use std::fs::{self, File};
use std::path::Path;

/// The options of a [`Postgres`].
#[derive(Clone, Debug, Default)]
pub struct PostgresOptions {
    settings: Vec<String>,
}

impl PostgresOptions {
    /// A small server with UTF-8 and the C locale.
    #[must_use]
    pub fn new() -> PostgresOptions {
        PostgresOptions::default()
    }

    /// One more line of configuration, such as `wal_level=logical`, which overrides the others.
    #[must_use]
    pub fn setting(mut self, setting: &str) -> PostgresOptions {
        self.settings.push(setting.to_owned());
        self
    }
}

/// One PostgreSQL on 127.0.0.1, which ends when dropped. User `postgres` has no password.
///
/// If the tests run as root, it runs as an unprivileged system user, because PostgreSQL refuses to run as root. A commit survives
/// [`Postgres::kill`], because the operating system has it, but not a crash of the machine.
#[derive(Debug)]
pub struct Postgres {
    instance: Instance,
}

control_methods!(Postgres);

impl Postgres {
    /// Starts a server and returns once it answers a query. The first start on a machine creates the data folder that later ones copy.
    ///
    /// Errors: the server is not installed, or did not start; the error contains the end of its log.
    pub async fn start(options: PostgresOptions) -> Result<Postgres> {
        let program = Program::find("EVENKEEL_POSTGRES_SERVER", &["postgres"])?;
        readiness::on_free_port(async |port| Postgres::start_on(&program, &options, port).await).await
    }

    /// The address of the database `postgres`: `postgres://postgres@127.0.0.1:PORT/postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        self.database_url("postgres")
    }

    /// The address of another database.
    #[must_use]
    pub fn database_url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port())
    }

    /// Runs one statement in the database `postgres`, such as `CREATE DATABASE stock`.
    pub async fn execute(&self, statement: &str) -> Result<()> {
        execute(&self.url(), statement).await
    }

    async fn start_on(program: &Program, options: &PostgresOptions, port: Port) -> Result<Postgres> {
        let user = User::unprivileged(program.root.as_deref())?;
        let folder = Folder::temporary("postgres", program.root.as_deref())?;
        let_through(folder.path())?;
        let data = folder.path().join("data");
        template::copy(program, "1", &data, |into| initialize(program, user, into))?;
        let settings = SETTINGS.iter().copied().chain(options.settings.iter().map(String::as_str));
        let launch = program
            .launch(&folder.path().join("log"))
            .argument("-D")
            .argument(program.inside(&data))
            .arguments(["-p", &port.number().to_string()])
            .arguments(settings.flat_map(|setting| ["-c", setting]));
        let mut server = Postgres { instance: Instance::start(as_user(launch, user), port, folder)? };
        server.until_ready().await?;
        Ok(server)
    }

    /// Compares the data folder, because another test's server may have taken the port.
    async fn until_ready(&mut self) -> Result<()> {
        let url = self.url();
        let probe = async |folder: &Path| {
            let mut connection = PgConnection::connect(&url).await?;
            let data: String = sqlx::query_scalar("SHOW data_directory").fetch_one(&mut connection).await?;
            let ours = folder.join("data").display().to_string();
            ensure!(ours.ends_with(&data), "the server on this port uses {data}");
            Ok(connection.close().await?)
        };
        self.instance.until_ready("postgres", probe).await
    }
}

/// Runs one statement in the database at `url`.
pub(crate) async fn execute(url: &str, statement: &str) -> Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    Ok(connection.close().await?)
}

/// Fast instead of durable. Each commit still reaches the operating system, so killing the server loses nothing.
const SETTINGS: [&str; 8] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=32MB",
    "max_connections=300",
    // In its own folder, so that a killed server leaves no shared memory behind.
    "dynamic_shared_memory_type=mmap",
    "log_min_messages=warning",
];

/// Creates the data folder `into`, as the unprivileged user.
fn initialize(program: &Program, user: Option<User>, into: &Path) -> Result<()> {
    let log = into.with_extension("log");
    File::create(&log)?;
    if let Some(user) = user {
        user.own(into)?;
    }
    // That user must be able to traverse the parents of its folder.
    into.ancestors().skip(1).take(2).try_for_each(let_through)?;
    let launch = program.sibling("initdb").launch(&log).argument("-D").argument(program.inside(into)).arguments([
        "--username=postgres",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
        "--no-instructions",
    ]);
    as_user(launch, user).run()?;
    Ok(fs::remove_file(&log)?)
}

fn as_user(launch: Launch, user: Option<User>) -> Launch {
    match user {
        Some(user) => launch.user(user.id, user.group),
        None => launch,
    }
}
