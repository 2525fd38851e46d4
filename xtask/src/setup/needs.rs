//! The programs the tests start, why, and which Debian package has each.

use crate::shell;

/// The version the repository's `.config/nextest.toml` was written for.
pub(crate) const NEXTEST: &str = "cargo-nextest@0.9.143";

/// One program the tests cannot do without.
pub(crate) struct Need {
    pub(crate) program: &'static str,
    pub(crate) purpose: &'static str,
    /// Debian and Ubuntu package; `None` where the program does not come as a package.
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
    need("chromium", Some("chromium"), "the browser that the page's tests drive"),
    need("chromedriver", Some("chromium-driver"), "how the tests reach the browser"),
    need("openssl", Some("openssl"), "certificates for the tests of encrypted links"),
    need("setpriv", Some("util-linux"), "ends the servers when their test is killed"),
    need("cargo-nextest", None, "runs the tests, one process each"),
    Need { matrix_only: true, ..need("debootstrap", Some("debootstrap"), "unpacks newer Debian releases") },
];
