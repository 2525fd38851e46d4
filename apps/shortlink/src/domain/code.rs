//! [`Code`]: the name a link is reached by.

use serde::Serialize;
use std::fmt;

/// The longest alias. Generated codes have seven characters.
pub const ALIAS_CHARACTERS_MAX: usize = 64;

/// First path segments that the service answers itself, now or in a version to come. Compared without regard to case, so that
/// nobody can publish `/API` beside `/api`.
const RESERVED: [&str; 20] = [
    ".well-known",
    "admin",
    "api",
    "assets",
    "docs",
    "favicon.ico",
    "health",
    "healthz",
    "livez",
    "login",
    "logout",
    "metrics",
    "openapi",
    "openapi.json",
    "ready",
    "readyz",
    "robots.txt",
    "sitemap.xml",
    "static",
    "version",
];

/// A code or alias of the right shape: 1 to [`ALIAS_CHARACTERS_MAX`] of `A-Z a-z 0-9 - _`. Compared byte for byte: `aB3` and
/// `ab3` are two links. It is the same thing to the store whether it was generated or chosen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Code(String);

/// Why a text cannot be the code of a link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeRefused {
    /// Nothing there.
    #[error("a code needs at least one character")]
    Empty,
    /// More than [`ALIAS_CHARACTERS_MAX`] characters.
    #[error("a code has at most {ALIAS_CHARACTERS_MAX} characters, this one has {0}")]
    TooLong(usize),
    /// A character that a code may not have.
    #[error("a code is made of letters A-Z and a-z, digits, '-' and '_'; this one has {0:?}")]
    Character(char),
    /// A word that the service keeps for its own addresses.
    #[error("the code {0:?} is reserved for the service's own pages; choose another")]
    Reserved(String),
}

impl Code {
    /// Reads a code that somebody asks for. Its shape is checked; reserved words pass, they simply name no link.
    ///
    /// # Errors
    /// [`CodeRefused`], but never [`CodeRefused::Reserved`]. No link can have such a code: answer "not found".
    pub fn parse(text: &str) -> Result<Self, CodeRefused> {
        if text.is_empty() {
            return Err(CodeRefused::Empty);
        }
        if let Some(character) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '-' || *c == '_')) {
            return Err(CodeRefused::Character(character));
        }
        if text.len() > ALIAS_CHARACTERS_MAX {
            return Err(CodeRefused::TooLong(text.len()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Reads a code that a new link shall have.
    ///
    /// # Errors
    /// [`CodeRefused`]: tell the sentence to who asked.
    pub fn alias(text: &str) -> Result<Self, CodeRefused> {
        // Reserved words come first: `robots.txt` has a character that codes lack, but that is not why it cannot be had.
        if is_reserved(text) {
            return Err(CodeRefused::Reserved(text.to_owned()));
        }
        Self::parse(text)
    }

    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_reserved(text: &str) -> bool {
    RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::{ALIAS_CHARACTERS_MAX, Code, CodeRefused};

    #[test]
    fn the_shape_of_a_code() {
        let longest = "x".repeat(ALIAS_CHARACTERS_MAX);
        for text in ["a", "0", "aB3xY9z", "summer-sale_2026", "-", "_", &longest] {
            assert_eq!(Code::alias(text).map(|code| code.to_string()), Ok(text.to_owned()));
        }
        let too_long = "x".repeat(ALIAS_CHARACTERS_MAX + 1);
        assert_eq!(Code::alias(&too_long), Err(CodeRefused::TooLong(ALIAS_CHARACTERS_MAX + 1)));
        assert_eq!(Code::alias(""), Err(CodeRefused::Empty));
        for (text, character) in
            [("a b", ' '), ("a/b", '/'), ("a+", '+'), ("a.b", '.'), ("ä", 'ä'), ("a\0", '\0'), ("a%20", '%')]
        {
            assert_eq!(Code::alias(text), Err(CodeRefused::Character(character)));
        }
    }

    #[test]
    fn the_service_keeps_some_words_in_any_case() {
        for text in ["api", "API", "Healthz", "metrics", "openapi.json", "favicon.ico", "robots.txt"] {
            assert_eq!(Code::alias(text), Err(CodeRefused::Reserved(text.to_owned())));
        }
        assert!(Code::alias("apis").is_ok());
        assert!(Code::parse("api").is_ok(), "asking for a reserved word is no error: it names no link");
    }
}
