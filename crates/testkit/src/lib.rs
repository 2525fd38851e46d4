//! The foundation of Evenkeel's tests. Nothing here is for production.
//!
//! * [`servers`] — Redis, MariaDB (or MySQL), PostgreSQL and NATS as child processes that end with their parent.
//! * [`park`] — one set of shared servers for a whole test run; each test has its own prefix or database.
//! * [`conformance`] — one suite per capability, which all its backends must pass.
//! * [`mutants`] — the table of protocol guards and of the tests that fail without them.
//! * [`process`] — child processes: pause, resume, kill, the end of the log.
//! * [`history`] — a recorder of operations, and checkers of staleness and linearizability.
//! * [`memory`] — the memory usage of a test.
//! * [`proxy`] — a seeded TCP proxy that injects faults between a client and a server.
//! * [`fleet`] — instances of a service that start at the same time.
//! * [`schema`] — the tables of a database as text, and those of an older version of the library.
//! * [`Door`] — a server's address that can be closed and opened.
//! * [`texts`] — requests with texts that databases treat differently.
//! * [`browser`] — headless Chromium for pages.
//! * [`Collector`] — receives the spans that a program exports.
//! * [`CommandTrace`] — the commands that a Redis executed, to count round trips.
//! * [`eventually`] — polls for an event of another process, with a deadline and a clear error.
//!
//! Functions return [`anyhow::Result`]: the error of a missing server or a failed start says what to do.

pub mod browser;
mod collector;
#[cfg(feature = "suites")]
pub mod conformance;
#[cfg(feature = "suites")]
pub mod demo;
mod door;
mod eventually;
pub mod fleet;
mod folder;
pub mod history;
pub mod memory;
pub mod mutants;
pub mod park;
pub mod process;
pub mod proxy;
pub mod schema;
pub mod servers;
pub mod texts;
mod trace;

pub use collector::{Collector, ExportedSpan};
pub use door::Door;
pub use eventually::{eventually, eventually_within};
pub use trace::{CommandTrace, Trace, TracedCommand};

/// The command by which a program calls a step: that of a function, or with `EVENKEEL_FUNCTIONS=off` that of a script.
pub fn step_command() -> &'static str {
    let are_off = std::env::var("EVENKEEL_FUNCTIONS").is_ok_and(|value| value == "off");
    if are_off { "EVALSHA" } else { "FCALL" }
}
