//! Settings files in TOML.

use anyhow::{Context, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use std::path::Path;
use url::Url;

/// Reads a settings file.
///
/// # Errors
/// The file cannot be read, or a line of it is invalid.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read the settings file {}", path.display()))?;
    parse(&text).map_err(|(line, why)| anyhow!("{}, line {line}: {why}", path.display()))
}

/// Reads the text of a settings file.
///
/// # Errors
/// The number of the invalid line and the reason.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, (usize, String)> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        (before.matches('\n').count() + 1, error.message().replace('\n', " "))
    })
}

/// Checks the setting `public_url`. The routes of a service are at the root of its host, so the URL has no path.
///
/// # Errors
/// It is not the HTTP URL of a host.
pub fn check_public_url(text: &str) -> Result<()> {
    let is_bare = |url: &Url| {
        url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    };
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() && is_bare(&url) => Ok(()),
        _ => bail!(
            "the setting \"public_url\" is wrong: expected a URL like https://s.example.com, without a path, query, fragment, \
             user or password"
        ),
    }
}
