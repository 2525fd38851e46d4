//! The address of a server and the credentials for it.

use std::fmt;
use std::path::PathBuf;

/// One server and the credentials for it. Its `Debug` and `Display` show no password.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: Address,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: i64,
    pub(crate) tls: Option<TlsFiles>,
}

/// The address of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

/// The files for TLS; all optional. Without `ca` the public web root certificates are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(crate) ca: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl Target {
    pub(crate) fn new(address: Address) -> Self {
        Self { address, user: None, password: None, database: 0, tls: None }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} database {} as {}", self.database, self.user.as_deref().unwrap_or("default"))
    }
}
