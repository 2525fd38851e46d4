//! [`DatabaseUrl`], and [`is_unreachable`] for the errors of its database.

use std::fmt;
use std::path::PathBuf;

/// The URL of an application's database.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file, created if it does not exist.
    Sqlite(PathBuf),
    /// MySQL 8 or MariaDB 10.6, or later.
    Mysql(String),
    /// PostgreSQL 14 or later.
    Postgres(String),
}

/// Why a text is not a database URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseUrlError {
    /// Another scheme or none.
    #[error("expected mysql://USER:PASSWORD@HOST/NAME, postgres://USER:PASSWORD@HOST/NAME or sqlite:FILE")]
    Scheme,
    /// A MySQL or MariaDB URL without the name of a database. (PostgreSQL defaults to the user's name.)
    #[error("the name of the database is missing: expected mysql://USER:PASSWORD@HOST/NAME")]
    NoName,
    /// `sqlite:` without a file or in memory.
    #[error("the path of the file is missing: expected sqlite:FILE")]
    NoFile,
}

impl std::str::FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((scheme, rest)) = text.split_once(':') else { return Err(DatabaseUrlError::Scheme) };
        match scheme {
            "mysql" | "mariadb" if !names_a_database(rest) => Err(DatabaseUrlError::NoName),
            "mysql" | "mariadb" => Ok(Self::Mysql(format!("mysql:{rest}"))),
            "postgres" | "postgresql" => Ok(Self::Postgres(text.to_owned())),
            "sqlite" => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                // Ignores sqlx's parameters, such as `?mode=ro`.
                let path = path.split('?').next().unwrap_or(path);
                if path.is_empty() || path == ":memory:" {
                    return Err(DatabaseUrlError::NoFile);
                }
                Ok(Self::Sqlite(PathBuf::from(path)))
            }
            _ => Err(DatabaseUrlError::Scheme),
        }
    }
}

/// Whether an error means that the database is unreachable, starting or shutting down. False if it refuses the connection, for example
/// because of a wrong password.
#[must_use]
pub fn is_unreachable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
        // The connection closed instead of PostgreSQL's first reply, as by a proxy whose server is down.
        sqlx::Error::Protocol(text) => text.contains("SSLRequest: 0x00"),
        sqlx::Error::Database(known) => {
            known.code().is_some_and(|code| code.starts_with("08") || code.starts_with("57P"))
        }
        _ => false,
    }
}

/// Whether `//USER:PASSWORD@HOST/NAME?..` contains a name.
fn names_a_database(rest: &str) -> bool {
    let rest = rest.split('?').next().unwrap_or(rest);
    let location = rest.strip_prefix("//").unwrap_or(rest);
    location.split_once('/').is_some_and(|(_, name)| !name.trim_end_matches('/').is_empty())
}

/// Without user and password, for logs.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match self {
            Self::Sqlite(path) => return write!(f, "sqlite:{}", path.display()),
            Self::Mysql(url) | Self::Postgres(url) => url,
        };
        let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
        let location = rest.rsplit_once('@').map_or(rest, |(_, location)| location);
        write!(f, "{scheme}://{}", location.split('?').next().unwrap_or_default())
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}
