//! Connections, and what the server says when it refuses something.

use crate::cdc::source::{GapCause, Position, SourceError};
use mysql_async::{Conn, Error, Opts, OptsBuilder, SslOpts};
use std::path::PathBuf;
use url::Url;

use super::resume::gap;

/// Where a server is: `mysql://user:password@host:port/database`, with the parameters `ssl-mode` and `ssl-ca` as in the rest of the library.
///
/// `ssl-mode` is `DISABLED` (the default; `PREFERRED` is the same here), `REQUIRED`, `VERIFY_CA` or `VERIFY_IDENTITY`.
pub(super) fn options(url: &str) -> Result<Opts, SourceError> {
    let refused = |what: String| SourceError::Refused {
        what,
        remedy: "Give an address such as mysql://user:password@host:3306".to_owned(),
    };
    let url = Url::parse(url).map_err(|e| refused(format!("the address of the source is not a URL: {e}")))?;
    if !matches!(url.scheme(), "mysql" | "mariadb") {
        return Err(refused(format!("the address of the source begins with {}:", url.scheme())));
    }
    let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let text = |text: &str| Some(decode(text)).filter(|text| !text.is_empty());
    // A connection by a socket that the server names would be another server's behind a proxy.
    let builder = OptsBuilder::default()
        .ip_or_hostname(url.host_str().unwrap_or("127.0.0.1").to_owned())
        .tcp_port(url.port().unwrap_or(3_306))
        .user(text(url.username()))
        .pass(url.password().and_then(text))
        .prefer_socket(false);
    let tls = tls(&url).map_err(refused)?;
    Ok(builder.ssl_opts(tls).into())
}

fn tls(url: &Url) -> Result<Option<SslOpts>, String> {
    let (mut mode, mut authority) = (String::new(), None);
    for (name, value) in url.query_pairs() {
        match &*name {
            "ssl-mode" => mode = value.to_ascii_uppercase(),
            "ssl-ca" => authority = Some(PathBuf::from(&*value)),
            _ => {}
        }
    }
    let options = SslOpts::default().with_root_certs(authority.into_iter().map(Into::into).collect());
    match mode.as_str() {
        "" | "DISABLED" | "PREFERRED" => Ok(None),
        "REQUIRED" => Ok(Some(options.with_danger_accept_invalid_certs(true))),
        "VERIFY_CA" => Ok(Some(options.with_danger_skip_domain_validation(true))),
        "VERIFY_IDENTITY" => Ok(Some(options)),
        other => Err(format!("the address of the source has the unknown ssl-mode {other}")),
    }
}

/// Connects.
pub(super) async fn connect(options: &Opts) -> Result<Conn, SourceError> {
    Box::pin(Conn::new(options.clone())).await.map_err(failed)
}

/// What the server says of a place where no event begins, or of a damaged file.
const UNREADABLE: [&str; 4] = ["truncated in the middle", "bogus data", "exceeded max_allowed_packet", "checksum"];

/// What an error of the server or the network means.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn failed(error: Error) -> SourceError {
    let Error::Server(server) = &error else { return SourceError::Unavailable(error.to_string()) };
    let message = server.message.as_str();
    match server.code {
        // Access denied, of which a statement that grants something is the remedy.
        1_044 | 1_045 | 1_142 | 1_227 => denied(message),
        1_236 if message.contains("Could not find first log") => gap(GapCause::Purged, message.to_owned()),
        1_236 if message.contains("impossible position") => gap(GapCause::RolledBack, message.to_owned()),
        1_236 if UNREADABLE.iter().any(|part| message.contains(part)) => SourceError::Unreadable {
            position: Position { epoch: 0, order: (0, 0), text: "the place that the server names".to_owned() },
            what: message.to_owned(),
            remedy: "Check the disk of the server, and accept the gap".to_owned(),
        },
        _ => SourceError::Unavailable(error.to_string()),
    }
}

fn denied(message: &str) -> SourceError {
    let remedy = "GRANT REPLICATION SLAVE, BINLOG MONITOR, SELECT ON *.* TO the user of the source";
    SourceError::Refused { what: message.to_owned(), remedy: remedy.to_owned() }
}
