//! [`Code`]: the path of a short link.

use std::fmt;

/// The longest alias. Generated codes have seven characters.
pub const ALIAS_CHARACTERS_MAX: usize = 64;

/// First path segments that the service uses itself, or may use in a later version. Compared without case, so that `/API` cannot
/// be mistaken for `/api`. A test compares them with the routes.
const RESERVED: [&str; 22] = [
    ".well-known",
    "admin",
    "api",
    "assets",
    "conflicts",
    "docs",
    "favicon.ico",
    "health",
    "healthz",
    "links",
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

/// A generated code or an alias: 1 to [`ALIAS_CHARACTERS_MAX`] of `A-Z a-z 0-9 - _`. Compared byte for byte: `aB3` and `ab3` are two
/// links.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(String);

/// Why a text is not a valid code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCode {
    /// An empty text.
    #[error("the code is empty")]
    Empty,
    /// More than [`ALIAS_CHARACTERS_MAX`] characters.
    #[error("the code has {0} characters; the limit is {ALIAS_CHARACTERS_MAX}")]
    TooLong(usize),
    /// A character that codes cannot have.
    #[error("a code can contain only A-Z, a-z, 0-9, '-' and '_', not {0:?}")]
    Character(char),
    /// A word that the service uses for its own paths.
    #[error("the code {0:?} is reserved for the service's own pages; choose another")]
    Reserved(String),
}

impl Code {
    /// Parses the code of a request. Reserved words are accepted: no link has them.
    ///
    /// # Errors
    /// [`InvalidCode`], but never [`InvalidCode::Reserved`]. No link can have the code: respond with "not found".
    pub fn parse(text: &str) -> Result<Self, InvalidCode> {
        if text.is_empty() {
            return Err(InvalidCode::Empty);
        }
        if let Some(character) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '-' || *c == '_')) {
            return Err(InvalidCode::Character(character));
        }
        if text.len() > ALIAS_CHARACTERS_MAX {
            return Err(InvalidCode::TooLong(text.len()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Parses the code of a new link.
    ///
    /// # Errors
    /// [`InvalidCode`]; its text is for the user.
    pub fn alias(text: &str) -> Result<Self, InvalidCode> {
        // Checked first, so that `robots.txt` is reported as reserved and not for its dot.
        if is_reserved(text) {
            return Err(InvalidCode::Reserved(text.to_owned()));
        }
        Self::parse(text)
    }

    /// The code as text.
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
    use super::{ALIAS_CHARACTERS_MAX, Code, InvalidCode};

    #[test]
    fn code_accepts_only_its_alphabet_and_length() {
        let longest = "x".repeat(ALIAS_CHARACTERS_MAX);
        for text in ["a", "0", "aB3xY9z", "summer-sale_2026", "-", "_", &longest] {
            assert_eq!(Code::alias(text).map(|code| code.to_string()), Ok(text.to_owned()));
        }
        let too_long = "x".repeat(ALIAS_CHARACTERS_MAX + 1);
        assert_eq!(Code::alias(&too_long), Err(InvalidCode::TooLong(ALIAS_CHARACTERS_MAX + 1)));
        assert_eq!(Code::alias(""), Err(InvalidCode::Empty));
        for (text, character) in
            [("a b", ' '), ("a/b", '/'), ("a+", '+'), ("a.b", '.'), ("ä", 'ä'), ("a\0", '\0'), ("a%20", '%')]
        {
            assert_eq!(Code::alias(text), Err(InvalidCode::Character(character)));
        }
    }

    #[test]
    fn reserved_words_are_refused_in_any_case() {
        for text in ["api", "API", "Healthz", "metrics", "openapi.json", "favicon.ico", "robots.txt"] {
            assert_eq!(Code::alias(text), Err(InvalidCode::Reserved(text.to_owned())));
        }
        assert!(Code::alias("apis").is_ok());
        assert!(Code::parse("api").is_ok(), "a request for a reserved word is valid and finds no link");
    }
}
