//! The settings file.

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What a settings file may say. The names are those of the flags.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) listen: Option<String>,
    pub(super) data: Option<PathBuf>,
    pub(super) database: Option<String>,
    pub(super) redis: Option<String>,
    pub(super) public_url: Option<String>,
    pub(super) refuse_private: Option<bool>,
    pub(super) near: Option<usize>,
}

impl File {
    /// Reads a settings file. What is wrong is told in one sentence with the line.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the settings file {}", path.display()))?;
        Self::parse(&text).map_err(|(line, why)| anyhow!("{}, line {line}: {why}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, (usize, String)> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            (before.matches('\n').count() + 1, error.message().replace('\n', " "))
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::File;

    #[test]
    fn a_wrong_setting_is_named_with_its_line() {
        assert_eq!(
            File::parse("listen = \"127.0.0.1:0\"\nrefuse_private = true\n").unwrap().refuse_private,
            Some(true)
        );
        let check = |text: &str, line: usize, what: &str| {
            let (at, why) = File::parse(text).unwrap_err();
            assert_eq!(at, line, "{why}");
            assert!(why.contains(what) && !why.contains('\n'), "{why}");
        };
        check("# settings\n\nlisten = 8080\n", 3, "invalid type");
        check("data = \"x\"\nlissen = \"127.0.0.1:0\"\n", 2, "unknown field `lissen`");
        check("data = \"x\nredis = 1", 1, "invalid");
    }
}
