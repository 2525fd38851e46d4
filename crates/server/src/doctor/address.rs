//! The addresses `doctor` is given. What is printed of them never holds a password.

use url::Url;

/// What kind of server an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Redis,
    MySql,
    Postgres,
    Sqlite,
}

/// One address.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) kind: Kind,
    /// As it was given, with its secrets: for connecting only.
    pub(crate) url: String,
    /// For people: without password and options.
    pub(crate) shown: String,
    secrets: Vec<String>,
}

impl Address {
    /// Reads the `position`th argument, or says in one sentence what is wrong with it, without repeating it.
    pub(crate) fn read(position: usize, text: &str) -> Result<Self, String> {
        let kind = kind(text).ok_or_else(|| {
            format!("argument {position} is no address doctor knows: write redis://, rediss://, mysql://, postgres:// or sqlite:")
        })?;
        if kind == Kind::Sqlite {
            let shown = text.split('?').next().unwrap_or(text).to_owned();
            return Ok(Self { kind, url: text.to_owned(), shown, secrets: Vec::new() });
        }
        let url = Url::parse(text).map_err(|error| format!("argument {position} is no address: {error}"))?;
        let mut shown = url.clone();
        shown.set_query(None);
        shown.set_fragment(None);
        // An address without a host cannot have a password, and nothing to remove is no error.
        let _ = shown.set_password(None);
        Ok(Self { kind, url: text.to_owned(), shown: shown.to_string(), secrets: secrets(&url) })
    }

    /// The text with every secret of this address taken out: servers and drivers sometimes repeat what they were given.
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

/// The password as written and as meant, and whatever stands in options.
fn secrets(url: &Url) -> Vec<String> {
    let written = url.password().map(str::to_owned);
    // `%41` in an address is `A` to the server.
    let meant = written.as_deref().map(|text| {
        url::form_urlencoded::parse(text.replace('+', "%2B").as_bytes())
            .map(|(name, _)| name.into_owned())
            .collect::<String>()
    });
    let options = url.query_pairs().filter(|(name, _)| name.contains("pass")).map(|(_, value)| value.into_owned());
    written.into_iter().chain(meant).chain(options).filter(|secret| !secret.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Address, String> {
        Address::read(1, text)
    }

    #[test]
    fn passwords_are_never_shown() {
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
    fn what_a_server_repeats_is_cleaned() {
        let cleaned =
            read("redis://user:s%65cret@host").map(|address| address.without_secrets("no secret, no s%65cret"));
        assert_eq!(cleaned, Ok("no ***, no ***".to_owned()));
    }

    #[test]
    fn an_unknown_address_is_not_repeated() {
        let sentence = read("secret").map(|address| address.shown);
        let wanted =
            "argument 1 is no address doctor knows: write redis://, rediss://, mysql://, postgres:// or sqlite:";
        assert_eq!(sentence, Err(wanted.to_owned()));
    }
}
