//! MariaDB as a child process, or MySQL if `EVENKEEL_MARIADB_SERVER` names one.

use super::instance::{Instance, control_methods};
use super::port::Port;
use super::program::Program;
use super::{readiness, template};
use crate::folder::Folder;
use anyhow::{Result, ensure};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection};
use std::path::Path;

/// The options of a [`MariaDb`].
#[derive(Clone, Debug, Default)]
pub struct MariaDbOptions {
    arguments: Vec<String>,
}

impl MariaDbOptions {
    /// A small server with `utf8mb4`, the version's own collation, and no binary log.
    #[must_use]
    pub fn new() -> MariaDbOptions {
        MariaDbOptions::default()
    }

    /// More arguments of `mariadbd`, which override the others.
    #[must_use]
    pub fn arguments<I: IntoIterator<Item: Into<String>>>(mut self, arguments: I) -> MariaDbOptions {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }
}

/// One MariaDB on 127.0.0.1, which ends when dropped. User `root` has no password.
///
/// A commit survives [`MariaDb::kill`], because the operating system has it, but not a crash of the machine.
#[derive(Debug)]
pub struct MariaDb {
    instance: Instance,
}

control_methods!(MariaDb);

impl MariaDb {
    /// Starts a server and returns once it answers a query. The first start on a machine creates the data folder that later ones copy.
    ///
    /// Errors: the server is not installed, or did not start; the error contains the end of its log.
    pub async fn start(options: MariaDbOptions) -> Result<MariaDb> {
        let program = Program::find("EVENKEEL_MARIADB_SERVER", &["mariadbd", "mysqld"])?;
        let flavour = Flavour::of(&program)?;
        readiness::on_free_port(async |port| MariaDb::start_on(&program, flavour, &options, port).await).await
    }

    /// The address of the server, without a database: `mysql://root@127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        url(self.port())
    }

    /// The address of one database.
    #[must_use]
    pub fn database_url(&self, database: &str) -> String {
        format!("{}/{database}", self.url())
    }

    /// Runs one statement as root without a database, such as `CREATE DATABASE stock`.
    pub async fn execute(&self, statement: &str) -> Result<()> {
        execute(&self.url(), statement).await
    }

    async fn start_on(program: &Program, flavour: Flavour, options: &MariaDbOptions, port: Port) -> Result<MariaDb> {
        let folder = Folder::temporary("mariadb", program.root.as_deref())?;
        let data = folder.path().join("data");
        template::copy(program, "1", &data, |into| flavour.initialize(program, into))?;
        let launch = program
            .launch(&folder.path().join("log"))
            .arguments(basics(program, &data))
            .argument(format!("--port={}", port.number()))
            .argument(format!("--socket={}", program.inside(&folder.path().join("socket")).display()))
            .arguments(ARGUMENTS)
            .arguments(flavour.arguments())
            .arguments(&options.arguments);
        let mut server = MariaDb { instance: Instance::start(launch, port, folder)? };
        server.until_ready().await?;
        Ok(server)
    }

    /// Compares the data folder, because another test's server may have taken the port.
    async fn until_ready(&mut self) -> Result<()> {
        let url = self.url();
        let probe = async |folder: &Path| {
            let mut connection = MySqlConnection::connect(&url).await?;
            let data: String = sqlx::query_scalar("SELECT @@datadir").fetch_one(&mut connection).await?;
            let ours = folder.join("data").display().to_string();
            ensure!(ours.ends_with(data.trim_end_matches('/')), "the server on this port uses {data}");
            Ok(connection.close().await?)
        };
        self.instance.until_ready("mariadbd", probe).await
    }
}

/// Runs one statement on the server or database at `url`.
pub(crate) async fn execute(url: &str, statement: &str) -> Result<()> {
    let mut connection = MySqlConnection::connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    Ok(connection.close().await?)
}

/// The two servers differ in the creation of the data folder and in some arguments.
#[derive(Clone, Copy, Debug)]
enum Flavour {
    MariaDb,
    MySql,
}

impl Flavour {
    fn of(program: &Program) -> Result<Flavour> {
        let output = program.command().arg("--version").output()?;
        let is_mariadb = String::from_utf8_lossy(&output.stdout).contains("MariaDB");
        Ok(if is_mariadb { Flavour::MariaDb } else { Flavour::MySql })
    }

    fn initialize(self, program: &Program, into: &Path) -> Result<()> {
        let log = into.with_extension("log");
        match self {
            Flavour::MariaDb => program
                .sibling("mariadb-install-db")
                .launch(&log)
                .arguments(basics(program, into))
                .arguments(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"])
                .argument(INNODB_LOG)
                .run(),
            Flavour::MySql => {
                program.launch(&log).arguments(basics(program, into)).argument("--initialize-insecure").run()
            }
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Flavour::MariaDb => &["--skip-name-resolve", INNODB_LOG],
            Flavour::MySql => &["--mysqlx=OFF", "--secure-file-priv=NULL", "--innodb-redo-log-capacity=8388608"],
        }
    }
}

/// Small, because each server copies it.
const INNODB_LOG: &str = "--innodb-log-file-size=8M";

/// Fast instead of durable. Each commit still reaches the operating system, so killing the server loses nothing.
const ARGUMENTS: [&str; 9] = [
    "--bind-address=127.0.0.1",
    "--character-set-server=utf8mb4",
    "--performance-schema=OFF",
    "--skip-log-bin",
    "--innodb-buffer-pool-size=32M",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=0",
    "--max-connections=400",
];

fn basics(program: &Program, data: &Path) -> Vec<String> {
    let mut arguments = vec!["--no-defaults".to_owned(), format!("--datadir={}", program.inside(data).display())];
    if rustix::process::geteuid().is_root() {
        arguments.push("--user=root".to_owned());
    }
    arguments
}

fn url(port: u16) -> String {
    format!("mysql://root@127.0.0.1:{port}")
}
