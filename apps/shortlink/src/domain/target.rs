//! [`Target`]: the validated target URL of a link, and the rules for targets.

use super::own_address::OwnAddress;
use super::private_network::is_private;
use url::{Host, Url};

/// The longest target, in bytes. A redirect must fit into the header buffers of proxies, which are often 8 KiB; the longest of
/// 29,390 real URLs has 527 bytes.
pub const TARGET_BYTES_MAX: usize = 8000;

/// A URL that was validated when its link was written. Stored byte for byte, never normalized: two spellings are two targets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target(String);

impl Target {
    /// A target from the database, where it was validated before it was stored.
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a target is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTarget {
    /// An empty text.
    #[error("the URL is empty")]
    Empty,
    /// More than [`TARGET_BYTES_MAX`] bytes.
    #[error("the URL has {0} bytes; the limit is {TARGET_BYTES_MAX}")]
    TooLong(usize),
    /// Not a URL, for this reason.
    #[error("not a web URL: {0}")]
    Malformed(String),
    /// A scheme other than `http` and `https`. `javascript:`, `data:`, `file:` and others run code or read files on the visitor's
    /// machine.
    #[error("only http:// and https:// URLs are allowed, not {0}:")]
    Scheme(String),
    /// A URL of this service, which would be a redirect loop.
    #[error("the URL points back to this service ({0}), which would be a redirect loop")]
    Loop(String),
    /// A URL in a private network, with `--refuse-private`.
    #[error("the URL is in a private network ({0}), which this service refuses")]
    Private(String),
}

/// The rules for targets: an `http` or `https` URL of at most [`TARGET_BYTES_MAX`] bytes that browsers can follow, that does not
/// point back to this service and, if so configured, not into a private network.
///
/// Not guaranteed: that the URL responds. Nothing is resolved or fetched, so a name that resolves to a private address or to this
/// service is accepted.
#[derive(Clone, Debug, Default)]
pub struct TargetRules {
    own: Vec<OwnAddress>,
    refuse_private: bool,
}

impl TargetRules {
    /// The rules of a service whose addresses are `own` (`https://s.example.com`, `127.0.0.1:8080`). Invalid addresses are ignored.
    #[must_use]
    pub fn new(own: &[String], refuse_private: bool) -> Self {
        Self { own: own.iter().filter_map(|text| OwnAddress::parse(text)).collect(), refuse_private }
    }

    /// Validates a URL. `host` is the request's `Host` header, which counts as an address of this service.
    ///
    /// # Errors
    /// [`InvalidTarget`]; its text is for the user.
    pub fn check(&self, text: &str, host: Option<&str>) -> Result<Target, InvalidTarget> {
        let url = read(text)?;
        let name = url.host().ok_or_else(|| InvalidTarget::Malformed("it has no host".to_owned()))?;
        let asked = host.and_then(OwnAddress::parse);
        if self.own.iter().chain(&asked).any(|own| own.is_at(&name, url.port_or_known_default())) {
            return Err(InvalidTarget::Loop(shown(&url, &name)));
        }
        if self.refuse_private && is_private(&name) {
            return Err(InvalidTarget::Private(name.to_string()));
        }
        Ok(Target(text.to_owned()))
    }
}

/// Parses a URL by the standard that browsers follow, but refuses what they repair silently, because the target is sent as it was
/// given.
fn read(text: &str) -> Result<Url, InvalidTarget> {
    if text.is_empty() {
        return Err(InvalidTarget::Empty);
    }
    if text.len() > TARGET_BYTES_MAX {
        return Err(InvalidTarget::TooLong(text.len()));
    }
    if let Some((at, character)) = text.char_indices().find(|(_, c)| c.is_whitespace() || c.is_control()) {
        let what = if character == ' ' { "a space (write %20)" } else { "a control character or white space" };
        return Err(InvalidTarget::Malformed(format!("byte {at} is {what}")));
    }
    let (scheme, rest) = text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)).ok_or_else(no_scheme)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        // `example.com:8080/x` lacks a scheme; `example.com` is not meant as one.
        let forgotten = scheme.contains('.') || rest.starts_with(|c: char| c.is_ascii_digit());
        return Err(if forgotten { no_scheme() } else { InvalidTarget::Scheme(scheme.to_ascii_lowercase()) });
    }
    let authority = rest.strip_prefix("//").ok_or_else(no_scheme)?;
    if authority.starts_with(['/', '\\']) {
        return Err(InvalidTarget::Malformed("it has no host".to_owned()));
    }
    Url::parse(text).map_err(|why| InvalidTarget::Malformed(why.to_string()))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn no_scheme() -> InvalidTarget {
    InvalidTarget::Malformed("it does not begin with http:// or https://".to_owned())
}

fn shown(url: &Url, host: &Host<&str>) -> String {
    url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::{InvalidTarget, TARGET_BYTES_MAX, TargetRules};

    fn refused(rules: &TargetRules, text: &str, host: Option<&str>) -> String {
        rules.check(text, host).err().map_or_else(|| "accepted".to_owned(), |why| why.to_string())
    }

    #[test]
    fn valid_target_is_kept_byte_for_byte() {
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
            assert_eq!(
                TargetRules::default().check(text, None).map(|target| target.as_str().to_owned()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn invalid_target_is_refused_with_reason() {
        let rules = TargetRules::default();
        let start = "not a web URL: it does not begin with http:// or https://";
        for (text, why) in [
            ("", "the URL is empty"),
            ("example.com/x", start),
            ("example.com:8080/x", start),
            ("localhost:8080/x", start),
            ("//example.com", start),
            ("http:example.com", start),
            ("https:/example.com", start),
            ("http:///example.com", "not a web URL: it has no host"),
            ("http:\\\\example.com", start),
            ("http://", "not a web URL: empty host"),
            ("http://example.com:99999/", "not a web URL: invalid port number"),
            ("http://exa mple.com/", "not a web URL: byte 10 is a space (write %20)"),
            (" http://example.com/", "not a web URL: byte 0 is a space (write %20)"),
            ("http://example.com/\n", "not a web URL: byte 19 is a control character or white space"),
            ("http://example.com/\u{a0}", "not a web URL: byte 19 is a control character or white space"),
            ("javascript:alert(1)", "only http:// and https:// URLs are allowed, not javascript:"),
            ("JavaScript:alert(1)", "only http:// and https:// URLs are allowed, not javascript:"),
            ("data:text/html,x", "only http:// and https:// URLs are allowed, not data:"),
            ("vbscript:x", "only http:// and https:// URLs are allowed, not vbscript:"),
            ("file:///etc/passwd", "only http:// and https:// URLs are allowed, not file:"),
            ("ftp://example.com/", "only http:// and https:// URLs are allowed, not ftp:"),
            ("mailto:somebody@example.com", "only http:// and https:// URLs are allowed, not mailto:"),
        ] {
            assert_eq!(refused(&rules, text, None), why, "{text:?}");
        }
        let long = format!("https://example.com/{}", "a".repeat(TARGET_BYTES_MAX - 19));
        assert_eq!(rules.check(&long, None), Err(InvalidTarget::TooLong(TARGET_BYTES_MAX + 1)));
    }

    #[test]
    fn url_of_service_itself_is_refused_as_loop() {
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
            assert!(refused(&rules, text, None).contains("points back to this service"), "{text}");
        }
        for text in [
            "https://t.example.com/",
            "https://s.example.com:8443/",
            "http://127.0.0.1:8081/",
            "http://192.0.2.7:8080/",
        ] {
            assert_eq!(refused(&rules, text, None), "accepted", "{text}");
        }
        assert!(refused(&rules, "http://192.0.2.7:8080/", Some("192.0.2.7:8080")).contains("points back"));
        assert!(refused(&rules, "https://links.example/", Some("links.example")).contains("points back"));
        assert_eq!(refused(&rules, "https://links.example/", Some("not a host")), "accepted");
    }

    // shows: hazard S32
    #[test]
    fn private_networks_are_refused_only_if_configured() {
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
            "http://224.0.0.1/",
            "http://240.0.0.1/",
            "http://255.255.255.255/",
            "http://192.0.0.8/",
            "http://192.0.2.1/",
            "http://198.51.100.1/",
            "http://203.0.113.1/",
            "http://192.88.99.1/",
            "http://[::10.0.0.1]/",
            "http://[::8.8.8.8]/",
            "http://[2002:a00:1::]/",
            "http://[2002:7f00:1::1]/",
            "http://[64:ff9b:1::a00:1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[2001:0:1::1]/",
            "http://[2607:f8b0::5efe:10.0.0.1]/",
            "http://[fec0::1]/",
            "http://[ff02::1]/",
            "http://[2001:db8::1]/",
            "http://[3fff::1]/",
            "http://[4000::1]/",
            "http://[100::1]/",
            "http://wiki.corp/",
            "http://nas.home/",
            "http://home.arpa/",
            "http://portal.intranet./",
            "http://db.private/",
            "http://app.localdomain/",
            "http://mx.mail/",
            "http://a.test/",
        ] {
            assert!(refused(&strict, text, None).contains("private network"), "{text}");
            assert_eq!(refused(&TargetRules::default(), text, None), "accepted", "{text}");
        }
        for text in [
            "https://example.com/",
            "https://home.example/",
            "https://mycorp.com/",
            "http://8.8.8.8/",
            "http://172.32.0.1/",
            "http://[2606:4700::1111]/",
            "http://[2001:4860:4860::8888]/",
            "http://[64:ff9b::808:808]/",
            "http://[2002:808:808::1]/",
            "http://[2607:f8b0::5efe:8.8.8.8]/",
        ] {
            assert_eq!(refused(&strict, text, None), "accepted", "{text}");
        }
    }
}
