//! Server addresses from the command line. Their printed form never contains a password.

use url::Url;

/// The kind of server that an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Redis,
    MySql,
    Postgres,
    Sqlite,
}

/// The address of one server.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) kind: Kind,
    /// The address as given, including secrets; only for connecting.
    pub(crate) url: String,
    /// The address without password and options, for output.
    pub(crate) shown: String,
    secrets: Vec<String>,
}

/// The options that name a file, without their signs.
const FILE_OPTIONS: [&str; 8] =
    ["sslca", "sslrootcert", "sslcert", "sslclientcert", "sslkey", "tlscafile", "tlscertfile", "tlskeyfile"];

impl Address {
    /// Parses the `position`th argument. The error message does not repeat the argument, which may contain a password.
    pub(crate) fn read(position: usize, text: &str) -> Result<Self, String> {
        let kind = kind(text).ok_or_else(|| {
            format!("argument {position} is not a supported address: use redis://, rediss://, mysql://, postgres:// or sqlite:")
        })?;
        if kind == Kind::Sqlite {
            let shown = text.split('?').next().unwrap_or(text).to_owned();
            return Ok(Self { kind, url: text.to_owned(), shown, secrets: Vec::new() });
        }
        let url = Url::parse(text).map_err(|error| format!("argument {position} is not a valid address: {error}"))?;
        let mut shown = url.clone();
        shown.set_query(None);
        shown.set_fragment(None);
        // Fails only for an address without a host, which has no password.
        let _ = shown.set_password(None);
        Ok(Self { kind, url: text.to_owned(), shown: shown.to_string(), secrets: secrets(&url) })
    }

    /// What is wrong with the first file of certificates or keys in the options that cannot be read.
    pub(crate) fn unreadable_file(&self) -> Option<String> {
        let url = Url::parse(&self.url).ok()?;
        url.query_pairs().find_map(|(option, path)| {
            let name: String = option.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
            // The drivers of databases accept the text of a certificate, too.
            let is_file = FILE_OPTIONS.contains(&name.as_str()) && !path.starts_with("-----BEGIN");
            let error = std::fs::File::open(&*path).err().filter(|_| is_file)?;
            Some(format!("cannot read {path}, the file of `{option}`: {error}"))
        })
    }

    /// `text` with every secret of this address masked: servers and drivers may repeat the address in their errors.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

fn kind(text: &str) -> Option<Kind> {
    let (scheme, _) = text.split_once(':')?;
    match scheme {
        "redis" | "rediss" | "unix" | "valkey" | "valkeys" => Some(Kind::Redis),
        "mysql" | "mariadb" => Some(Kind::MySql),
        "postgres" | "postgresql" => Some(Kind::Postgres),
        "sqlite" => Some(Kind::Sqlite),
        _ => None,
    }
}

/// The password, as written and decoded, and the values of password options.
fn secrets(url: &Url) -> Vec<String> {
    let written = url.password().map(str::to_owned);
    // The server sees `A` where the address has `%41`.
    let decoded = written.as_deref().map(|text| {
        url::form_urlencoded::parse(text.replace('+', "%2B").as_bytes())
            .map(|(name, _)| name.into_owned())
            .collect::<String>()
    });
    let options = url.query_pairs().filter(|(name, _)| name.contains("pass")).map(|(_, value)| value.into_owned());
    written.into_iter().chain(decoded).chain(options).filter(|secret| !secret.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Address, String> {
        Address::read(1, text)
    }

    #[test]
    fn passwords_are_not_printed() {
        for url in [
            "redis://user:s%65cret@host:6379/1",
            "mysql://user:s%65cret@host/db?password=another",
            "postgres://host/db?password=secret",
            "unix:///run/redis.sock?password=secret",
        ] {
            let address = read(url).map(|address| address.shown);
            assert!(address.is_ok_and(|shown| !shown.contains("cret") && !shown.contains("another")), "{url}");
        }
    }

    #[test]
    fn secrets_in_server_errors_are_masked() {
        let masked =
            read("redis://user:s%65cret@host").map(|address| address.without_secrets("no secret, no s%65cret"));
        assert_eq!(masked, Ok("no ***, no ***".to_owned()));
    }

    #[test]
    fn unsupported_address_is_not_repeated_in_error() {
        let error = read("secret").map(|address| address.shown);
        let expected =
            "argument 1 is not a supported address: use redis://, rediss://, mysql://, postgres:// or sqlite:";
        assert_eq!(error, Err(expected.to_owned()));
    }
}
