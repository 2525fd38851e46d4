//! Why a server could not be reached, and what to do about it.

use super::permissions;
use super::redis::VERSION_REMEDY;
use super::report::Server;
use crate::address::Address;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkError, LinkOptions};
use evenkeel::sql::SqlError;
use sqlx::mysql::MySqlDatabaseError;
use url::Url;

pub(super) const UNREACHABLE: &str = "start the server, or correct the address";

/// Reports why no link could be opened.
pub(super) async fn of_redis(address: &Address, server: &mut Server, error: &LinkError, clock: Clock) {
    let message = address.without_secrets(error.to_string().trim_end_matches('.'));
    if let LinkError::Down { reason, .. } = error {
        if reason.contains("replica") {
            server.reached = true;
            return server.fail("role", reason, "use the primary's address");
        }
        if reason.contains("loading") {
            server.reached = true;
            return server.fail("connect", reason, "wait until the server has read its data");
        }
        return match scheme_of_the_port(address, clock).await {
            Some(scheme) => {
                let (found, remedy) = match scheme {
                    "rediss" => ("the server requires TLS", "write rediss:// instead of redis://"),
                    _ => ("the server does not speak TLS on this port", "write redis:// instead of rediss://"),
                };
                server.fail("address", found, remedy);
            }
            None => server.fail("connect", message, UNREACHABLE),
        };
    }
    let LinkError::Refused { code, message: text } = error else {
        return match error {
            LinkError::TooOld { version, .. } => {
                server.reached = true;
                server.fail("version", format!("Redis {version}"), VERSION_REMEDY);
            }
            LinkError::Options(_) => server.fail("address", message, "correct the address"),
            _ => server.fail("connect", message, UNREACHABLE),
        };
    };
    server.reached = true;
    match code.as_str() {
        "NOPROTO" => {
            server.fail("protocol", message, "use Redis 7.0 or Valkey 7.2 or later, and no proxy without RESP3");
        }
        "NOPERM" => server.fail("permissions", message, permissions::remedy_for_all(&prefix(address))),
        "ERR" if text.contains("unknown command") => {
            server.fail(
                "commands",
                message,
                "remove the `rename-command` of this command from the server's configuration",
            );
        }
        "ERR" if text.contains("DB index") => {
            server.fail("database", message, "correct the number of the database in the address");
        }
        "WRONGPASS" | "NOAUTH" => server.fail("login", message, "correct the user or the password"),
        _ => server.fail("connect", message, "correct what the server's message names"),
    }
}

/// The prefix of the keys: a link that does not open cannot be asked.
fn prefix(address: &Address) -> String {
    let url = Url::parse(&address.url).ok();
    let given = url.as_ref().and_then(|url| url.query_pairs().find(|(name, _)| name == "prefix"));
    given.map_or_else(|| "evenkeel".to_owned(), |(_, prefix)| prefix.into_owned())
}

/// The scheme with which the port answers, if the address has the other one.
async fn scheme_of_the_port(address: &Address, clock: Clock) -> Option<&'static str> {
    let (scheme, rest) = address.url.split_once("://")?;
    let (url, other) = match scheme {
        "redis" | "valkey" => (format!("rediss://{rest}"), "rediss"),
        "rediss" | "valkeys" => (format!("redis://{}", rest.split('?').next().unwrap_or(rest)), "redis"),
        _ => return None,
    };
    match Link::connect(LinkOptions::from_url(&url).ok()?, clock).await {
        Ok(_) | Err(LinkError::Refused { .. } | LinkError::TooOld { .. }) => Some(other),
        // The handshake of TLS went as far as the certificates.
        Err(LinkError::Down { reason, .. }) => ["certificate", "fatal alert", "replica", "loading"]
            .iter()
            .any(|word| reason.contains(word))
            .then_some(other),
        Err(_) => None,
    }
}

/// Reports why no connection to a database could be opened.
pub(super) fn of_database(address: &Address, server: &mut Server, error: sqlx::Error) {
    let (check, remedy) = cause(&error);
    server.reached = matches!(error, sqlx::Error::Database(_));
    server.fail(check, address.without_secrets(&SqlError::from(error).to_string()), remedy);
}

/// The check that failed, and its remedy.
fn cause(error: &sqlx::Error) -> (&'static str, &'static str) {
    let answer = match error {
        sqlx::Error::Database(answer) => answer,
        sqlx::Error::Configuration(_) => return ("address", "correct the address"),
        sqlx::Error::Tls(_) => {
            return ("address", "correct the TLS options of the address, or the server's certificate");
        }
        _ => return ("connect", UNREACHABLE),
    };
    let number = answer.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number);
    match (answer.code().as_deref().unwrap_or_default(), number) {
        (_, Some(1049)) | ("3D000", _) => ("database", "create the database, or correct its name in the address"),
        (_, Some(1044)) => ("login", "grant this user permissions on the database"),
        (_, Some(1040)) | ("53300", _) => ("connect", "close connections, or raise the server's limit"),
        (_, Some(1130)) => ("login", "allow logins from this machine on the server"),
        ("28000" | "28P01", _) => ("login", "correct the user or the password, or allow this login on the server"),
        ("57P03", _) => ("connect", "wait until the server has started"),
        ("08P01", _) => ("connect", "connect to PostgreSQL itself, or to a pooler in session mode"),
        _ => ("connect", "correct what the server's message names"),
    }
}
