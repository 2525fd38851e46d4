//! Parses the Redis URL and its options.

use super::target::{Address, Target, TlsFiles};
use crate::error::LinkError;
use crate::options::LinkOptions;
use crate::push::tracking::Tracking;
use percent_encoding::percent_decode_str;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use url::Url;

const PORT_DEFAULT: u16 = 6379;
const FORM: &str = "redis://[[user]:password@]host[:port][/db]";
const KNOWN: &str = "prefix, connections, connect_timeout_ms, response_timeout_ms, silent_timeouts_max, in_flight_max, \
                     heartbeat_ms, tracking, tls_ca_file, tls_cert_file, tls_key_file (and db, user, password with unix://)";

/// See [`LinkOptions::from_url`].
pub(crate) fn parse(text: &str) -> Result<LinkOptions, LinkError> {
    // The parser's messages may contain a part of the URL, which may be the password, so they are not passed on.
    let url = Url::parse(text).map_err(|_| wrong(&format!("the Redis URL is invalid; it has the form {FORM}")))?;
    // After an unescaped `/`, `?` or `#` the rest of a password would be parsed as another part, which a message could show.
    if [url.path(), url.query().unwrap_or_default()].iter().any(|part| part.contains('@')) || url.fragment().is_some() {
        return Err(wrong(
            "the Redis URL has an `@` after the host or a `#`; write special characters of a password as %XX",
        ));
    }
    let mut target = match url.scheme() {
        "redis" | "valkey" => Target { tls: None, ..over_tcp(&url)? },
        "rediss" | "valkeys" => Target { tls: Some(TlsFiles::default()), ..over_tcp(&url)? },
        "unix" => Target::new(Address::Unix(PathBuf::from(decoded(url.path(), "the path")?))),
        other => return Err(wrong(&format!("the Redis URL begins with `{other}://`; it has the form {FORM}"))),
    };
    if target.tls.is_some() && !cfg!(feature = "tls") {
        return Err(wrong("the Redis URL requires TLS, which needs evenkeel's cargo feature `tls`"));
    }
    credentials(&url, has_empty_password(text), &mut target)?;
    let mut options = LinkOptions::new(target);
    for (name, value) in url.query_pairs() {
        set(&mut options, &name, &value)?;
    }
    options.check()?;
    Ok(options)
}

fn over_tcp(url: &Url) -> Result<Target, LinkError> {
    let host = match url.host() {
        Some(url::Host::Ipv6(address)) => address.to_string(),
        Some(host) => decoded(&host.to_string(), "the host")?,
        None => return Err(wrong(&format!("the Redis URL has no host; it has the form {FORM}"))),
    };
    let mut target = Target::new(Address::Tcp { host, port: url.port().unwrap_or(PORT_DEFAULT) });
    let path = url.path().trim_matches('/');
    if !path.is_empty() {
        target.database = database(path)?;
    }
    Ok(target)
}

/// Whether the URL has the form `user:@host`. The parser drops such a colon.
fn has_empty_password(text: &str) -> bool {
    let authority = text.split_once("://").map_or("", |(_, rest)| rest).split(['/', '?', '#']).next();
    authority.and_then(|authority| authority.rsplit_once('@')).is_some_and(|(user, _)| user.ends_with(':'))
}

fn credentials(url: &Url, has_empty_password: bool, target: &mut Target) -> Result<(), LinkError> {
    if !url.username().is_empty() {
        target.user = Some(decoded(url.username(), "the user")?);
    }
    if let Some(password) = url.password() {
        target.password = Some(decoded(password, "the password")?);
    }
    if target.user.is_some() && target.password.is_none() {
        if !has_empty_password {
            return Err(wrong(
                "the Redis URL has a user without a password; a password without a user is written `redis://:password@host`, a user \
                 without a password (`nopass`) `redis://user:@host`",
            ));
        }
        target.password = Some(String::new());
    }
    Ok(())
}

fn set(options: &mut LinkOptions, name: &str, value: &str) -> Result<(), LinkError> {
    let over_socket = matches!(options.target.address, Address::Unix(_));
    match name {
        "prefix" => options.prefix = value.to_owned(),
        "connections" => options.connections = number(name, value)?,
        "connect_timeout_ms" => options.connect_timeout = Duration::from_millis(number(name, value)?),
        "response_timeout_ms" => options.response_timeout = Duration::from_millis(number(name, value)?),
        "silent_timeouts_max" => options.silent_timeouts_max = number(name, value)?,
        "in_flight_max" => options.in_flight_max = number(name, value)?,
        "tracking" => options.tracking = tracking(value)?,
        "heartbeat_ms" => options.heartbeat = Duration::from_millis(number(name, value)?),
        "db" if over_socket => options.target.database = database(value)?,
        "user" if over_socket => options.target.user = Some(value.to_owned()),
        "password" if over_socket => options.target.password = Some(value.to_owned()),
        "tls_ca_file" => tls(options, name)?.ca = Some(value.into()),
        "tls_cert_file" => tls(options, name)?.certificate = Some(value.into()),
        "tls_key_file" => tls(options, name)?.key = Some(value.into()),
        _ => return Err(wrong(&format!("the Redis URL has an unknown option `{name}`; the options are {KNOWN}"))),
    }
    Ok(())
}

fn tracking(value: &str) -> Result<Tracking, LinkError> {
    match value {
        "keys" => Ok(Tracking::Keys),
        "broadcast" => Ok(Tracking::Broadcast),
        "off" => Ok(Tracking::Off),
        _ => {
            Err(wrong(&format!("the Redis URL sets `tracking` to `{value}`; it must be `keys`, `broadcast` or `off`")))
        }
    }
}

fn tls<'a>(options: &'a mut LinkOptions, name: &str) -> Result<&'a mut TlsFiles, LinkError> {
    let without = || wrong(&format!("the Redis URL has the option `{name}` without TLS; write rediss://"));
    options.target.tls.as_mut().ok_or_else(without)
}

fn database(text: &str) -> Result<i64, LinkError> {
    match text.parse() {
        Ok(number @ 0..) => Ok(number),
        _ => Err(wrong(&format!("the Redis URL names the database `{text}`; it must be a number such as 0"))),
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, LinkError> {
    value.parse().map_err(|_| wrong(&format!("the Redis URL sets `{name}` to `{value}`; it must be a whole number")))
}

fn decoded(text: &str, what: &str) -> Result<String, LinkError> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(std::borrow::Cow::into_owned)
        .map_err(|_| wrong(&format!("{what} in the Redis URL is not valid UTF-8 after percent-decoding")))
}

fn wrong(text: &str) -> LinkError {
    LinkError::Options(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::server::target::Address;
    use std::time::Duration;

    fn refused(url: &str) -> String {
        parse(url).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_part_of_a_url_is_parsed() -> Result<(), crate::error::LinkError> {
        let options =
            parse("redis://app:p%40ss%2Fword@cache.example:7000/3?prefix=shop&connections=4&response_timeout_ms=250")?;
        assert_eq!(options.target.address, Address::Tcp { host: "cache.example".to_owned(), port: 7000 });
        assert_eq!(options.target.user.as_deref(), Some("app"));
        assert_eq!(options.target.password.as_deref(), Some("p@ss/word"));
        assert_eq!((options.target.database, options.connections), (3, 4));
        assert_eq!((options.prefix.as_str(), options.response_timeout), ("shop", Duration::from_millis(250)));
        Ok(())
    }

    #[test]
    fn missing_url_parts_have_defaults() -> Result<(), crate::error::LinkError> {
        let options = parse("redis://localhost")?;
        assert_eq!(options.target.to_string(), "localhost:6379");
        assert_eq!((options.target.database, options.prefix.as_str(), options.connections), (0, "evenkeel", 1));
        assert_eq!(parse("valkey://:secret@[::1]:6380/")?.target.to_string(), "[::1]:6380");
        let socket = parse("unix:///run/redis.sock?db=2&password=secret")?;
        assert_eq!((socket.target.to_string().as_str(), socket.target.database), ("/run/redis.sock", 2));
        Ok(())
    }

    // shows: hazard AL7, link::LinkOptions::from_url
    #[test]
    fn user_with_an_empty_password_needs_none() -> Result<(), crate::error::LinkError> {
        let target = parse("redis://app:@localhost/2?prefix=a")?.target;
        assert_eq!((target.user.as_deref(), target.password.as_deref(), target.database), (Some("app"), Some(""), 2));
        let target = parse("redis://app:pass:@localhost")?.target;
        assert_eq!(target.password.as_deref(), Some("pass:"));
        let target = parse("redis://:@localhost")?.target;
        assert_eq!((target.user, target.password), (None, None));
        Ok(())
    }

    // shows: link::LinkOptions::from_url
    #[test]
    fn invalid_url_error_names_the_part() {
        assert!(refused("localhost:6379").contains("begins with `localhost://`"));
        assert!(refused("http://localhost").contains("begins with `http://`"));
        assert!(refused("redis://localhost/mine").contains("the database `mine`"));
        assert!(refused("redis://localhost/-1").contains("the database `-1`"));
        assert!(refused("redis://localhost?color=red").contains("unknown option `color`"));
        assert!(refused("redis://localhost?connections=many").contains("`connections` to `many`"));
        assert!(refused("redis://localhost?connections=0").contains("between 1 and 64"));
        assert!(refused("redis://localhost?prefix=").contains("prefix"));
        assert!(refused("redis://localhost?prefix=a%7Bb").contains("braces"));
        assert!(refused("redis://localhost?response_timeout_ms=1").contains("10 ms"));
        assert!(refused("redis://app@localhost").contains("`redis://user:@host`"));
        assert!(refused("redis://localhost?tls_ca_file=x").contains("rediss://"));
    }

    // shows: link::LinkOptions::from_url
    #[test]
    fn no_message_shows_the_password() {
        for url in [
            "redis://:hush@localhost/x",
            "redis://:hush@local host/",
            "redis://:hush@:6379:1/",
            "rediss://:hush@localhost?nothing",
            "unix:///socket?password=hush&db=one",
            "redis://user:12/hush@localhost",
            "redis://user:12?hush@localhost",
            "redis://user:12#hush@localhost",
        ] {
            let text = refused(url);
            assert!(!text.is_empty() && !text.contains("hush"), "{url}: {text}");
        }
        let shown = parse("redis://app:hush@localhost").map(|options| format!("{options:?}")).unwrap_or_default();
        assert!(!shown.contains("hush") && shown.contains("localhost:6379"), "{shown}");
    }

    #[test]
    #[cfg(not(feature = "tls"))]
    fn tls_without_the_feature_is_refused() {
        assert!(refused("rediss://localhost").contains("cargo feature `tls`"));
    }
}
