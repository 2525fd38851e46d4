//! [`Cookie`]: the signed cookie, and the CSRF token that belongs to it.
//!
//! A console without a login gives every browser a cookie, too: the CSRF token of its forms depends on it.

use super::Security;
use axum::http::{HeaderMap, HeaderValue, header};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::time::{SystemTime, UNIX_EPOCH};
use subtle::ConstantTimeEq;
use web::{from_hex, hex};

/// How long a browser keeps a notice that no page has shown, and how long one is at most: a browser keeps 4 KiB.
const NOTICE_SECONDS: u32 = 60;
const NOTICE_BYTES_MAX: usize = 1_000;
/// How long a login lasts.
const LOGIN_SECONDS: u64 = 12 * 3_600;

/// What a valid cookie says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    /// A random number.
    id: String,
    /// The entry of the token that logged in; empty without one.
    pub(super) entry: String,
    /// When it expires, in seconds since 1970; 0: with the browser.
    expires: u64,
}

impl Cookie {
    /// A new cookie of a visitor without a login.
    pub(crate) fn anonymous() -> Self {
        Self { id: hex(&rand::random::<[u8; 16]>()), entry: String::new(), expires: 0 }
    }

    /// A new cookie of a visitor who has logged in with the token of this entry.
    pub(crate) fn login(entry: &str) -> Self {
        Self { entry: entry.to_owned(), expires: now_seconds() + LOGIN_SECONDS, ..Self::anonymous() }
    }

    fn text(&self) -> String {
        format!("{}.{}.{}", self.id, self.entry, self.expires)
    }
}

/// The cookie of a request, if its signature is ours and it has not expired.
pub(crate) fn read(headers: &HeaderMap, security: &Security) -> Option<Cookie> {
    let (text, signature) = value_of(headers, &name(security))?.rsplit_once('.')?;
    if !is_equal(signature, &sign(&security.key(), "cookie", text)) {
        return None;
    }
    let mut parts = text.split('.');
    let (id, entry, expires) = (parts.next()?.to_owned(), parts.next()?.to_owned(), parts.next()?.parse().ok()?);
    Some(Cookie { id, entry, expires }).filter(|cookie| cookie.expires == 0 || cookie.expires > now_seconds())
}

/// The header that sets a cookie.
pub(crate) fn set(cookie: &Cookie, security: &Security) -> Option<HeaderValue> {
    let text = cookie.text();
    let signature = sign(&security.key(), "cookie", &text);
    let secure = if security.hosts.is_https() { "; Secure" } else { "" };
    let age = if cookie.expires == 0 { String::new() } else { format!("; Max-Age={LOGIN_SECONDS}") };
    HeaderValue::try_from(format!("{}={text}.{signature}; Path=/; HttpOnly; SameSite=Lax{secure}{age}", name(security)))
        .ok()
}

fn value_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let values = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The answer of an action, for the page that it leads to: a second cookie, signed for the first one. An address could carry any text.
pub(crate) fn notice(headers: &HeaderMap, cookie: &Cookie, security: &Security) -> Option<String> {
    let (text, signature) = value_of(headers, &notice_name(security))?.rsplit_once('.')?;
    let is_own = is_equal(signature, &sign_notice(text, cookie, security));
    String::from_utf8(from_hex(text).filter(|_| is_own)?).ok()
}

pub(crate) fn has_notice(headers: &HeaderMap, security: &Security) -> bool {
    value_of(headers, &notice_name(security)).is_some()
}

/// The header that sets the cookie of a notice; an empty one deletes it.
pub(crate) fn set_notice(text: &str, cookie: &Cookie, security: &Security) -> Option<HeaderValue> {
    let text = hex(text.get(..text.floor_char_boundary(NOTICE_BYTES_MAX))?.as_bytes());
    let (age, value) = match text.as_str() {
        "" => (0, String::new()),
        text => (NOTICE_SECONDS, format!("{text}.{}", sign_notice(text, cookie, security))),
    };
    let (name, secure) = (notice_name(security), if security.hosts.is_https() { "; Secure" } else { "" });
    HeaderValue::try_from(format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}; Max-Age={age}")).ok()
}

fn sign_notice(text: &str, cookie: &Cookie, security: &Security) -> String {
    sign(&security.key(), "notice", &format!("{} {text}", cookie.id))
}

fn notice_name(security: &Security) -> String {
    format!("{}-notice", name(security))
}

/// The header that deletes the cookie.
pub(crate) fn delete(security: &Security) -> Option<HeaderValue> {
    let secure = if security.hosts.is_https() { "; Secure" } else { "" };
    HeaderValue::try_from(format!("{}=; Path=/; HttpOnly; SameSite=Lax{secure}; Max-Age=0", name(security))).ok()
}

/// The CSRF token of the forms of a cookie.
pub(crate) fn csrf(cookie: &Cookie, security: &Security) -> String {
    sign(&security.key(), "csrf", &cookie.text())
}

/// Compares in constant time.
pub(crate) fn is_equal(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// `__Host-` is refused by browsers without HTTPS. The port keeps the consoles of one host apart.
fn name(security: &Security) -> String {
    match security.hosts.is_https() {
        true => "__Host-evenkeel".to_owned(),
        false => format!("evenkeel-{}", security.hosts.port()),
    }
}

fn sign(key: &[u8; 32], purpose: &str, text: &str) -> String {
    // HMAC accepts keys of every length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(purpose.as_bytes());
    mac.update(b"\0");
    mac.update(text.as_bytes());
    hex(&mac.finalize().into_bytes())
}

pub(super) fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use crate::console::security::hosts::Hosts;
    use crate::console::security::redact::Redaction;

    fn security(port: u16) -> Security {
        let hosts = Hosts::new(([127, 0, 0, 1], port).into(), None);
        Security { hosts, login: None, redaction: Redaction::default(), process_key: rand::random() }
    }

    fn sent(cookie: &Cookie, security: &Security) -> HeaderMap {
        let set = set(cookie, security).unwrap();
        let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::try_from(format!("other=1; {pair}")).unwrap())])
    }

    #[test]
    fn signed_cookie_is_read_back() {
        let own = security(8420);
        let cookie = Cookie::login("ada");
        let headers = sent(&cookie, &own);
        assert_eq!(read(&headers, &own), Some(cookie.clone()));
        assert_eq!(read(&headers, &security(8420)), None, "another process has another key");
        assert_ne!(csrf(&cookie, &own), csrf(&Cookie::login("ada"), &own), "the token belongs to its cookie");
    }

    // shows: hazard CL3
    #[test]
    fn notice_is_read_back_by_its_own_session_only() {
        let (own, cookie, text) = (security(8420), Cookie::login("ada"), "118 sent back; \u{fc} <b>");
        let set = |text: &str| set_notice(text, &cookie, &own).unwrap().to_str().unwrap().to_owned();
        let pair = set(text).split(';').next().unwrap().to_owned();
        let headers = |pair: &str| HeaderMap::from_iter([(header::COOKIE, HeaderValue::try_from(pair).unwrap())]);
        assert_eq!(notice(&headers(&pair), &cookie, &own).as_deref(), Some(text));
        assert_eq!(notice(&headers(&pair), &Cookie::login("ada"), &own), None, "another session");
        assert_eq!(notice(&headers(&pair.replacen("31", "32", 1)), &cookie, &own), None, "another text");
        assert!(set("").contains("=; Path") && set("").contains("Max-Age=0"), "{}", set(""));
        assert!(set(&"\u{fc}".repeat(2_000)).len() < 4_000, "a browser keeps it");
    }

    #[test]
    fn changed_and_expired_cookies_are_ignored() {
        let own = security(8420);
        let text = sent(&Cookie::login("ada"), &own)[header::COOKIE].to_str().unwrap().replace("ada", "eve");
        let changed = HeaderMap::from_iter([(header::COOKIE, HeaderValue::try_from(text).unwrap())]);
        assert_eq!(read(&changed, &own), None);
        let expired = Cookie { expires: 1, ..Cookie::login("ada") };
        assert_eq!(read(&sent(&expired, &own), &own), None);
    }
}
