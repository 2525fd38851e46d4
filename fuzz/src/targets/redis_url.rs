//! Addresses of a Redis: what an operator typed. A sentence about a bad one never repeats the password.

use super::Target;
use evenkeel::link::LinkOptions;
use url::Url;

pub(crate) const TARGET: Target = Target { name: "redis_url", valid, feed };

const PASSWORD: &str = "hiddenWord";

fn feed(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let sentence = match LinkOptions::from_url(&text) {
        Ok(options) => format!("{options:?}"),
        Err(error) => error.to_string(),
    };
    assert!(!has_password(&text) || !sentence.contains(PASSWORD), "the password is shown: {sentence}");
}

/// Whether the password still stands where passwords stand, and only there, after the damage.
fn has_password(text: &str) -> bool {
    // Readers of addresses leave these out, wherever they stand.
    let text = text.replace(['\t', '\n', '\r'], "");
    if text.matches(PASSWORD).count() > 1 {
        return false;
    }
    let Ok(url) = Url::parse(&text) else { return false };
    url.password() == Some(PASSWORD) || url.query_pairs().any(|(name, value)| name == "password" && value == PASSWORD)
}

fn valid() -> Vec<Vec<u8>> {
    let urls = [
        "redis://127.0.0.1",
        "redis://user:hiddenWord@host.example:6380/3?connections=4&response_timeout_ms=250&prefix=shop",
        "rediss://:hiddenWord@[::1]:6379/0?tls_ca_file=ca.pem",
        "unix:///run/redis.sock?db=2&user=app&password=hiddenWord",
    ];
    urls.map(|url| url.as_bytes().to_vec()).to_vec()
}
