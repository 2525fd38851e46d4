//! [`Target`]: an address a link may lead to, and the rules that refuse the others.

use super::own_address::OwnAddress;
use super::private_network::is_private;
use serde::Serialize;
use std::fmt;
use url::{Host, Url};

/// The longest address, in bytes: the longest of 29,390 real addresses has 527, and a redirect has to fit into the header
/// buffers of the proxies in front of the service, which often end at 8 KiB.
pub const TARGET_BYTES_MAX: usize = 8000;

/// An address that was checked when its link was made. Kept byte for byte, never normalised: two spellings are two targets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Target(String);

impl Target {
    /// Takes an address from the database, which was checked before it went in.
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    /// The address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a link may not lead there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetRefused {
    /// Nothing there.
    #[error("the address is empty")]
    Empty,
    /// More than [`TARGET_BYTES_MAX`] bytes.
    #[error("the address has {0} bytes; at most {TARGET_BYTES_MAX} are taken")]
    TooLong(usize),
    /// Not an address, for the reason given.
    #[error("not a web address: {0}")]
    Malformed(String),
    /// A scheme other than `http` and `https`: `javascript:`, `data:`, `file:` and the like run or reveal things where the
    /// visitor is.
    #[error("links lead to http:// and https:// addresses only, not to {0}:")]
    Scheme(String),
    /// It leads back to this service, which would send the visitor round in circles.
    #[error("the address leads back to this service ({0}), in a loop")]
    Loop(String),
    /// It leads into a private network, and the service is set to refuse that.
    #[error("the address leads into a private network ({0}), which this service refuses")]
    Private(String),
}

/// What a target must be: an `http` or `https` address, no longer than [`TARGET_BYTES_MAX`], that browsers can follow and that
/// does not lead back to this service; and, if so set, not into a private network.
///
/// Not guaranteed: that the address answers, or what it answers; nothing is looked up or fetched. So a name that resolves to a
/// private address, or to this service, passes.
#[derive(Clone, Debug, Default)]
pub struct TargetRules {
    own: Vec<OwnAddress>,
    refuse_private: bool,
}

impl TargetRules {
    /// Rules for a service that is reached at the addresses `own` (`https://s.example.com`, `127.0.0.1:8080`). What is no
    /// address there is passed over.
    #[must_use]
    pub fn new(own: &[String], refuse_private: bool) -> Self {
        Self { own: own.iter().filter_map(|text| OwnAddress::parse(text)).collect(), refuse_private }
    }

    /// Checks an address. `host` is what the request's `Host` header called this service: it goes by that name, too.
    ///
    /// # Errors
    /// [`TargetRefused`]: tell the sentence to who asked.
    pub fn check(&self, text: &str, host: Option<&str>) -> Result<Target, TargetRefused> {
        let url = read(text)?;
        let name = url.host().ok_or_else(|| TargetRefused::Malformed("it names no host".to_owned()))?;
        let asked = host.and_then(OwnAddress::parse);
        if self.own.iter().chain(&asked).any(|own| own.is_at(&name, url.port_or_known_default())) {
            return Err(TargetRefused::Loop(shown(&url, &name)));
        }
        if self.refuse_private && is_private(&name) {
            return Err(TargetRefused::Private(name.to_string()));
        }
        Ok(Target(text.to_owned()))
    }
}

/// Reads an address the way browsers do (the URL standard), but not as forgivingly: what they repair silently is refused, since
/// the address is handed out as it was given.
fn read(text: &str) -> Result<Url, TargetRefused> {
    if text.is_empty() {
        return Err(TargetRefused::Empty);
    }
    if text.len() > TARGET_BYTES_MAX {
        return Err(TargetRefused::TooLong(text.len()));
    }
    if let Some((at, character)) = text.char_indices().find(|(_, c)| c.is_whitespace() || c.is_control()) {
        let what = if character == ' ' { "a space (write %20)" } else { "a control character or white space" };
        return Err(TargetRefused::Malformed(format!("byte {at} is {what}")));
    }
    let (scheme, rest) = text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)).ok_or_else(no_scheme)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        // `example.com:8080/x` is a forgotten scheme, not one called `example.com`.
        let forgotten = scheme.contains('.') || rest.starts_with(|c: char| c.is_ascii_digit());
        return Err(if forgotten { no_scheme() } else { TargetRefused::Scheme(scheme.to_ascii_lowercase()) });
    }
    let authority = rest.strip_prefix("//").ok_or_else(no_scheme)?;
    if authority.starts_with(['/', '\\']) {
        return Err(TargetRefused::Malformed("it names no host".to_owned()));
    }
    Url::parse(text).map_err(|why| TargetRefused::Malformed(why.to_string()))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn no_scheme() -> TargetRefused {
    TargetRefused::Malformed("it does not begin with http:// or https://".to_owned())
}

fn shown(url: &Url, host: &Host<&str>) -> String {
    url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::{TARGET_BYTES_MAX, TargetRefused, TargetRules};

    fn refused(rules: &TargetRules, text: &str, host: Option<&str>) -> String {
        rules.check(text, host).err().map_or_else(|| "taken".to_owned(), |why| why.to_string())
    }

    #[test]
    fn real_and_odd_addresses_are_kept_byte_for_byte() {
        let longest = format!("https://example.com/{}", "a".repeat(TARGET_BYTES_MAX - 20));
        for text in [
            "http://www.w3.org/Protocols/rfc2616/rfc2616-sec10.html#sec10.2.1",
            "https://api.example.com:443/v1",
            "HTTPS://EXAMPLE.com/%7Euser/%zz/../x?q=a+b&&=#",
            "https://example.com",
            "https://example.com/{template}|<>\"^`\\",
            "https://user:password@example.com/",
            "https://例え.jp/パス",
            "http://[2001:db8::1]:8080/",
            "http://10.0.0.1/",
            &longest,
        ] {
            assert_eq!(TargetRules::default().check(text, None).map(|target| target.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_is_no_web_address_is_refused_with_the_reason() {
        let rules = TargetRules::default();
        let start = "not a web address: it does not begin with http:// or https://";
        for (text, why) in [
            ("", "the address is empty"),
            ("example.com/x", start),
            ("example.com:8080/x", start),
            ("localhost:8080/x", start),
            ("//example.com", start),
            ("http:example.com", start),
            ("https:/example.com", start),
            ("http:///example.com", "not a web address: it names no host"),
            ("http:\\\\example.com", start),
            ("http://", "not a web address: empty host"),
            ("http://example.com:99999/", "not a web address: invalid port number"),
            ("http://exa mple.com/", "not a web address: byte 10 is a space (write %20)"),
            (" http://example.com/", "not a web address: byte 0 is a space (write %20)"),
            ("http://example.com/\n", "not a web address: byte 19 is a control character or white space"),
            ("http://example.com/\u{a0}", "not a web address: byte 19 is a control character or white space"),
            ("javascript:alert(1)", "links lead to http:// and https:// addresses only, not to javascript:"),
            ("JavaScript:alert(1)", "links lead to http:// and https:// addresses only, not to javascript:"),
            ("data:text/html,x", "links lead to http:// and https:// addresses only, not to data:"),
            ("vbscript:x", "links lead to http:// and https:// addresses only, not to vbscript:"),
            ("file:///etc/passwd", "links lead to http:// and https:// addresses only, not to file:"),
            ("ftp://example.com/", "links lead to http:// and https:// addresses only, not to ftp:"),
            ("mailto:somebody@example.com", "links lead to http:// and https:// addresses only, not to mailto:"),
        ] {
            assert_eq!(refused(&rules, text, None), why, "{text:?}");
        }
        let long = format!("https://example.com/{}", "a".repeat(TARGET_BYTES_MAX - 19));
        assert_eq!(rules.check(&long, None), Err(TargetRefused::TooLong(TARGET_BYTES_MAX + 1)));
    }

    #[test]
    fn addresses_of_the_service_itself_are_loops() {
        let rules = TargetRules::new(&["https://s.example.com".to_owned(), "127.0.0.1:8080".to_owned()], false);
        for text in [
            "https://s.example.com/abc",
            "http://S.EXAMPLE.COM./abc",
            "https://s.example.com:443",
            "http://user@s.example.com/",
            "http://127.0.0.1:8080/abc",
            "http://localhost:8080/abc",
            "http://app.localhost:8080/abc",
            "http://2130706433:8080/",
            "http://[::1]:8080/",
            "http://[::ffff:127.0.0.1]:8080/",
            "http://0.0.0.0:8080/",
        ] {
            assert!(refused(&rules, text, None).contains("leads back to this service"), "{text}");
        }
        for text in [
            "https://t.example.com/",
            "https://s.example.com:8443/",
            "http://127.0.0.1:8081/",
            "http://192.0.2.7:8080/",
        ] {
            assert_eq!(refused(&rules, text, None), "taken", "{text}");
        }
        assert!(refused(&rules, "http://192.0.2.7:8080/", Some("192.0.2.7:8080")).contains("leads back"));
        assert!(refused(&rules, "https://links.example/", Some("links.example")).contains("leads back"));
        assert_eq!(refused(&rules, "https://links.example/", Some("not a host")), "taken");
    }

    #[test]
    fn private_networks_are_refused_only_when_set() {
        let strict = TargetRules::new(&[], true);
        for text in [
            "http://localhost/",
            "http://intranet/",
            "http://printer.local/",
            "http://db.internal/",
            "http://127.1/",
            "http://10.1.2.3/",
            "http://172.16.0.1/",
            "http://192.168.1.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://100.64.0.1/",
            "http://0.0.0.0/",
            "http://[::1]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://[64:ff9b::a00:1]/",
            "http://0x7f.1/",
        ] {
            assert!(refused(&strict, text, None).contains("private network"), "{text}");
            assert_eq!(refused(&TargetRules::default(), text, None), "taken", "{text}");
        }
        for text in ["https://example.com/", "http://8.8.8.8/", "http://172.32.0.1/", "http://[2606:4700::1111]/"] {
            assert_eq!(refused(&strict, text, None), "taken", "{text}");
        }
    }
}
