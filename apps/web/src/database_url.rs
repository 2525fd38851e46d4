//! [`DatabaseUrl`]: which database; and whether it is away.

use std::fmt;
use std::path::PathBuf;

/// Which database an application uses.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file, made if there is none.
    Sqlite(PathBuf),
    /// MySQL 8 or MariaDB 10.6, or later.
    Mysql(String),
    /// PostgreSQL 14 or later.
    Postgres(String),
}

/// Why a text names no database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseUrlRefused {
    /// Another scheme, or none.
    #[error(
        "a database is given as mysql://USER:PASSWORD@HOST/NAME, postgres://USER:PASSWORD@HOST/NAME or sqlite:FILE"
    )]
    Scheme,
    /// A MySQL or MariaDB server without a database. (PostgreSQL takes the user's name for it.)
    #[error("a database server's address ends with the name of a database: mysql://USER:PASSWORD@HOST/NAME")]
    NoName,
    /// `sqlite:` without a file, or in memory.
    #[error("sqlite: needs the path of a file")]
    NoFile,
}

impl std::str::FromStr for DatabaseUrl {
    type Err = DatabaseUrlRefused;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((scheme, rest)) = text.split_once(':') else { return Err(DatabaseUrlRefused::Scheme) };
        match scheme {
            "mysql" | "mariadb" if !names_a_database(rest) => Err(DatabaseUrlRefused::NoName),
            "mysql" | "mariadb" => Ok(Self::Mysql(format!("mysql:{rest}"))),
            "postgres" | "postgresql" => Ok(Self::Postgres(text.to_owned())),
            "sqlite" => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                // `?mode=..` and the like are sqlx's; the file is always made if there is none.
                let path = path.split('?').next().unwrap_or(path);
                if path.is_empty() || path == ":memory:" {
                    return Err(DatabaseUrlRefused::NoFile);
                }
                Ok(Self::Sqlite(PathBuf::from(path)))
            }
            _ => Err(DatabaseUrlRefused::Scheme),
        }
    }
}

/// Whether an error of the driver says that the database could not be reached, or is about to start or stop. One that refuses (a
/// password, a name) is there.
#[must_use]
pub fn is_away(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
        // PostgreSQL's first answer was the end of the connection, as of a proxy whose server is away.
        sqlx::Error::Protocol(text) => text.contains("SSLRequest: 0x00"),
        sqlx::Error::Database(known) => {
            known.code().is_some_and(|code| code.starts_with("08") || code.starts_with("57P"))
        }
        _ => false,
    }
}

/// Whether `//USER:PASSWORD@HOST/NAME?..` has a name.
fn names_a_database(rest: &str) -> bool {
    let rest = rest.split('?').next().unwrap_or(rest);
    let place = rest.strip_prefix("//").unwrap_or(rest);
    place.split_once('/').is_some_and(|(_, name)| !name.trim_end_matches('/').is_empty())
}

/// Without user and password: it may end up in a log.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match self {
            Self::Sqlite(path) => return write!(f, "sqlite:{}", path.display()),
            Self::Mysql(url) | Self::Postgres(url) => url,
        };
        let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        write!(f, "{scheme}://{}", place.split('?').next().unwrap_or_default())
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}
