//! The settings file.

use super::modes::{CacheMode, ClickMode, WriteMode};
use serde::Deserialize;
use std::path::PathBuf;

/// The contents of a settings file. The keys are named like the flags.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SettingsFile {
    pub(super) listen: Option<String>,
    pub(super) data: Option<PathBuf>,
    pub(super) database: Option<String>,
    pub(super) redis: Option<String>,
    pub(super) public_url: Option<String>,
    pub(super) otlp: Option<String>,
    pub(super) refuse_private: Option<bool>,
    pub(super) near: Option<usize>,
    pub(super) consistency: Option<CacheMode>,
    pub(super) write_mode: Option<WriteMode>,
    pub(super) spool_bytes_max: Option<u64>,
    pub(super) clicks: Option<ClickMode>,
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::SettingsFile;

    #[test]
    fn wrong_setting_is_reported_with_line() {
        assert_eq!(
            web::settings::parse::<SettingsFile>("listen = \"127.0.0.1:0\"\nrefuse_private = true\n")
                .unwrap()
                .refuse_private,
            Some(true)
        );
        let check = |text: &str, line: usize, what: &str| {
            let (at, why) = web::settings::parse::<SettingsFile>(text).unwrap_err();
            assert_eq!(at, line, "{why}");
            assert!(why.contains(what) && !why.contains('\n'), "{why}");
        };
        check("# settings\n\nlisten = 8080\n", 3, "invalid type");
        check("data = \"x\"\nlissen = \"127.0.0.1:0\"\n", 2, "unknown field `lissen`");
        check("data = \"x\nredis = 1", 1, "invalid");
    }
}
