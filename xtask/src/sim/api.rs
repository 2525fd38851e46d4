//! `cargo xtask sim api`: schemathesis sends requests that it derives from an OpenAPI document, to the console and to shortlink.
//!
//! It fails on a 5xx, on a status that the document does not have, and on a refused request that the document allows. A request may be
//! refused for the state of the service: with a status of [`ACCEPTED`] by every operation, with 422 by those whose fields the document cannot
//! limit, which have the extension `x-refused-by-state` there. It is a command by hand: no gate runs it, and it installs nothing.

use crate::shell::{self, cargo};
use crate::test::Park;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = "schemathesis";
const CHECKS: &str = "not_a_server_error,status_code_conformance,positive_data_acceptance";
/// The statuses of a request that the document allows. In addition to those that schemathesis accepts by default: the link has expired or is
/// banned (410), `If-Match` names another version (412), the body is too large (413).
const ACCEPTED: &str = r#""2xx", "3xx", "401", "403", "404", "409", "410", "412", "413", "429", "5xx""#;
/// The variable of the test kit with the address of its Redis.
const REDIS: &str = "EVENKEEL_TEST_REDIS";

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Seconds for each document
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Seed of the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Try only this program
    #[arg(long, value_parser = ["console", "shortlink"])]
    only: Option<String>,
}

/// A service that runs until the value is dropped.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    /// Starts a program that prints its address when it listens. What it logs is in a file of the target folder, for a look after a failed check.
    fn start(program: &Path, arguments: &[&str]) -> Result<Self> {
        let name = program.file_name().context("a program has a name")?.to_string_lossy().into_owned();
        let log = shell::target()?.join(format!("sim-api-{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        println!("its log: {}", log.display());
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().with_context(|| format!("`{}` could not be started", shell::line(&command)))?;
        let mut first = String::new();
        BufReader::new(child.stdout.take().context("its output is piped")?).read_line(&mut first)?;
        match first.trim_end().strip_prefix("listening on ") {
            Some(address) => Ok(Self { child, address: address.to_owned() }),
            None => bail!("`{}` does not listen: {first}, see {}", shell::line(&command), log.display()),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let Some(program) = shell::find(PROGRAM) else {
        bail!(
            "{PROGRAM} is missing: install it with `pipx install {PROGRAM}` (4.30 or later), or put the `bin` of its virtual environment into PATH"
        );
    };
    // All packages, so that nothing is compiled again with other features than in the tests.
    shell::run(&mut cargo(&["build", "--workspace", "--bins"]))?;
    let programs = shell::target()?.join("debug");
    let mut failed = Vec::new();
    for (name, play) in [("console", console as Play), ("shortlink", shortlink)] {
        if arguments.only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        println!("\n== {name}");
        if let Err(error) = play(&programs, &program, arguments) {
            println!("{error:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("seed {}: requests failed a check on {}; they are above", arguments.seed, failed.join(" and "));
    }
    Ok(())
}

/// Plays one service: the folder of its program, the path of schemathesis.
type Play = fn(&Path, &Path, &Arguments) -> Result<()>;

fn console(programs: &Path, schemathesis: &Path, arguments: &Arguments) -> Result<()> {
    let park = Park::start(&[])?;
    let redis = park.addresses().find(|(name, _)| *name == REDIS).map(|(_, url)| url.to_owned());
    let redis = format!("{}?prefix=sim-api", redis.context("the test kit has no Redis")?);
    let program = programs.join("evenkeel");
    for words in [["queue", "create", "mail", "--redis", &redis], ["stream", "create", "orders", "--redis", &redis]] {
        shell::run(Command::new(&program).args(words).stdout(Stdio::null()))?;
    }
    let service = Service::start(&program, &["serve", "--redis", &redis, "--listen", "127.0.0.1:0"])?;
    check(schemathesis, &service.address, "/api/v1/openapi.json", arguments)
}

fn shortlink(programs: &Path, schemathesis: &Path, arguments: &Arguments) -> Result<()> {
    let folder = shell::target()?.join("sim-api");
    // Links of an earlier run would change what this one does.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let data = folder.to_str().context("the target folder has a name that is not UTF-8")?;
    let service = Service::start(&programs.join("shortlink"), &["--data", data, "--listen", "127.0.0.1:0"])?;
    check(schemathesis, &service.address, "/openapi.json", arguments)
}

/// Sends requests until the time is over.
fn check(program: &Path, address: &str, document: &str, arguments: &Arguments) -> Result<()> {
    let settings = shell::target()?.join("sim-api.toml");
    std::fs::write(&settings, accepting()).with_context(|| format!("cannot write {}", settings.display()))?;
    let (seconds, seed) = (arguments.seconds.to_string(), arguments.seed.to_string());
    let mut command = Command::new(program);
    // Its cache is written to the folder in which it runs.
    command.current_dir(shell::target()?).arg("--config-file").arg(&settings);
    command.args(["run", &format!("{address}{document}"), "--url", address, "--checks", CHECKS]);
    command.args(["--max-time", &seconds, "--seed", &seed, "--continue-on-failure", "--generation-database", "none"]);
    // Calls that wait take up to 20 s.
    command.args(["--request-timeout", "40", "--suppress-health-check", "all", "--warnings", "off", "--workers", "2"]);
    shell::run(&mut command)
}

/// The settings of schemathesis, which accept 422 from the operations with the extension only.
fn accepting() -> String {
    let statuses = "checks.positive_data_acceptance.expected-statuses";
    format!(
        "{statuses} = [{ACCEPTED}]\n\n[[operations]]\ninclude-by = \"/x-refused-by-state == true\"\n\
         {statuses} = [{ACCEPTED}, \"422\"]\n"
    )
}
