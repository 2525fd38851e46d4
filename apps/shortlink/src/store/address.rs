//! The fingerprint of a database's address.

use super::{DatabaseUrl, StoreError};
use sha2::{Digest, Sha256};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use std::net::IpAddr;
use std::str::FromStr;
use web::hex;

/// A fingerprint of the database's host, port and name, without user and password. A loopback address or socket includes the
/// machine's host name. `None` for a file, and for a loopback address if the host name cannot be read.
///
/// # Errors
/// [`StoreError::Unavailable`]: the URL cannot be parsed.
pub(crate) fn fingerprint(database: &DatabaseUrl) -> Result<Option<String>, StoreError> {
    let (kind, host, port, socket, name) = match database {
        DatabaseUrl::Sqlite(_) => return Ok(None),
        DatabaseUrl::Mysql(url) => {
            let options = MySqlConnectOptions::from_str(url)?;
            let name = options.get_database().unwrap_or_default().to_owned();
            ("mysql", options.get_host().to_owned(), options.get_port(), options.get_socket().cloned(), name)
        }
        DatabaseUrl::Postgres(url) => {
            let options = PgConnectOptions::from_str(url)?;
            // PostgreSQL defaults the database name to the user name.
            let name = options.get_database().unwrap_or(options.get_username()).to_owned();
            ("postgres", options.get_host().to_owned(), options.get_port(), options.get_socket().cloned(), name)
        }
    };
    let host = host.to_ascii_lowercase();
    let is_here = socket.is_some()
        || host == "localhost"
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let machine = if is_here { machine() } else { Some(String::new()) };
    let Some(machine) = machine else { return Ok(None) };
    let socket = socket.map(|path| path.display().to_string()).unwrap_or_default();
    let address = [kind, &machine, &host, &port.to_string(), &socket, &name].join("\n");
    let digest = Sha256::digest(address.as_bytes());
    Ok(Some(hex(&digest[..12])))
}

/// The machine's host name.
fn machine() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/hostname").ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::fingerprint;

    fn of(url: &str) -> Option<String> {
        fingerprint(&url.parse().unwrap()).unwrap()
    }

    // shows: hazard S3a
    #[test]
    fn fingerprint_covers_host_port_and_name_but_not_user() {
        let one = of("postgres://a:b@db.example/links").unwrap();
        assert_eq!(one.len(), 24);
        assert_eq!(of("postgres://c:d@DB.example:5432/links").as_ref(), Some(&one));
        for other in [
            "postgres://a:b@db.example/other",
            "postgres://a:b@db2.example/links",
            "postgres://a:b@db.example:5433/links",
            "mysql://a:b@db.example:5432/links",
            "postgres://links@localhost",
        ] {
            assert_ne!(of(other).as_ref(), Some(&one), "{other}");
        }
        assert_eq!(of("postgres://links@localhost/links"), of("postgres://links:x@localhost"));
        assert_eq!(of("sqlite:links.db"), None);
    }
}
