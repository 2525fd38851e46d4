//! The settings file.

use serde::Deserialize;
use std::path::PathBuf;

/// The settings file. Its keys are the names of the flags.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SettingsFile {
    pub(super) listen: Option<String>,
    pub(super) data: Option<PathBuf>,
    pub(super) database: Option<String>,
    pub(super) redis: Option<String>,
    pub(super) redlock: Option<Vec<String>>,
    pub(super) public_url: Option<String>,
    pub(super) otlp: Option<String>,
    pub(super) time_zone: Option<String>,
    pub(super) cap: Option<i64>,
    pub(super) segments: Option<u32>,
    pub(super) stripes: Option<u32>,
    pub(super) strategy: Option<String>,
    pub(super) allow_unfenced: Option<bool>,
    pub(super) pay_within: Option<u32>,
}
