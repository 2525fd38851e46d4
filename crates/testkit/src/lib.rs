//! What Evenkeel's tests stand on. Nothing here is for production.
//!
//! * [`servers`] — Redis, MariaDB (or MySQL), PostgreSQL and NATS as child processes that die with their parent.
//! * [`park`] — one set of shared servers for a whole test run; each test takes its own prefix or database.
//! * [`conformance`] — one suite per capability; each of its backends passes the same one.
//! * [`mutants`] — the table of protocol guards and of the tests that fail without them.
//! * [`process`] — child processes in general: pause, resume, kill, tail of the log.
//! * [`history`] — a recorder of operations, and checkers of staleness and linearizability.
//! * [`memory`] — how much memory a test has taken.
//! * [`proxy`] — a seeded TCP proxy that makes faults between a client and a server.
//! * [`fleet`] — instances of a service that start at once.
//! * [`schema`] — the tables of a database as text, and those of an older version of the library.
//! * [`Door`] — a server's address that can be closed and opened.
//! * [`browser`] — headless Chromium for pages.
//! * [`CommandTrace`] — what a Redis executed, to count round trips.
//! * [`eventually`] — waiting for something a foreign process does, with a deadline and a clear error.
//!
//! Everything returns [`anyhow::Result`]: a missing server or a failed start is an error that says what to do.

pub mod browser;
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
mod trace;

pub use door::Door;
pub use eventually::{eventually, eventually_within};
pub use trace::{CommandTrace, Trace, TracedCommand};
