//! The programs that the tests need, with their purposes and Debian packages.

use crate::shell;

/// The version for which `.config/nextest.toml` was written.
pub(crate) const NEXTEST: &str = "cargo-nextest@0.9.143";

/// A program that the tests need.
pub(crate) struct Need {
    pub(crate) program: &'static str,
    pub(crate) purpose: &'static str,
    /// Debian and Ubuntu package; `None` if there is none.
    pub(crate) package: Option<&'static str>,
    /// Only `setup --matrix` needs it.
    pub(crate) matrix_only: bool,
}

impl Need {
    pub(crate) fn is_met(&self) -> bool {
        shell::find(self.program).is_some()
    }
}

const fn need(program: &'static str, package: Option<&'static str>, purpose: &'static str) -> Need {
    Need { program, purpose, package, matrix_only: false }
}

pub(crate) const NEEDS: &[Need] = &[
    need("redis-server", Some("redis-server"), "the Redis that the tests start"),
    need("mariadbd", Some("mariadb-server"), "the MariaDB that the tests start"),
    need("postgres", Some("postgresql"), "the PostgreSQL that the tests start"),
    need("nats-server", Some("nats-server"), "the NATS that the tests start"),
    need("chromium", Some("chromium"), "the browser for tests of web pages"),
    need("chromedriver", Some("chromium-driver"), "controls the browser"),
    need("openssl", Some("openssl"), "creates certificates for tests with TLS"),
    need("setpriv", Some("util-linux"), "ends servers whose test was killed"),
    need("cargo-nextest", None, "runs each test in a process of its own"),
    Need { matrix_only: true, ..need("debootstrap", Some("debootstrap"), "unpacks newer Debian releases") },
];
