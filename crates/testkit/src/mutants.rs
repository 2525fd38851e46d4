//! The mutant table: every protocol guard that tests can remove, and the tests that must fail without it.
//!
//! A guard is `guard("name")` in Rust, or a line of a script that ends in `-- guard: name`; the environment variable
//! `EVENKEEL_MUTANT=name` removes it. `cargo xtask mutants` runs the table, which `evenkeel-testkit mutants` prints as JSON.

mod apps;
mod cache;
mod cdc;
mod id;
mod limit;
mod link;
mod lock;
mod process;
mod queue;
mod spool;
mod sql;
mod stream;

use serde::Serialize;

/// One guard and one test. A guard that needs several tests (the model's and the script's, say) has several rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mutant {
    /// Its name in the sources and scripts.
    pub name: &'static str,
    /// What is gone without it, and the bug that comes back, in one sentence.
    pub removes: &'static str,
    /// A test that must fail without it: its path in the test binary (`cache::fences::a_fill_after_an_invalidation`), or as
    /// much of that path's end as names one test of the workspace.
    pub test: &'static str,
}

/// Every guard of every capability.
#[must_use]
pub fn all() -> Vec<Mutant> {
    let [cdc, id, limit, link, process, spool, apps] =
        [cdc::ROWS, id::ROWS, limit::ROWS, link::ROWS, process::ROWS, spool::ROWS, apps::ROWS].map(|rows| [rows]);
    let [cache, queue, lock, sql, stream] = [cache::ROWS, queue::ROWS, lock::ROWS, sql::ROWS, stream::ROWS];
    [cache, &cdc, &id, &limit, &link, queue, lock, sql, &spool, stream, &process, &apps].concat().concat()
}

const fn mutant(name: &'static str, removes: &'static str, test: &'static str) -> Mutant {
    Mutant { name, removes, test }
}
