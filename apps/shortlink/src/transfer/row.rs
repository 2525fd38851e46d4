//! [`TransferRow`]: a link in an import or export.

use crate::domain::{ClickHistory, Code, Link, TargetRules};
use crate::store::{ImportRow, Store, StoreError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The largest accepted version. Changes increase it, and JSON numbers above 2^53 lose digits in many languages.
const VERSION_MAX: i64 = 1 << 52;

/// A link as it is exported and imported. An export has every field; an import needs only `target`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferRow {
    /// Code; if omitted, one is generated unless a link with this target exists.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    pub code: Option<String>,
    /// Target, byte for byte.
    pub target: String,
    /// Whether the code was chosen by a user.
    #[serde(default)]
    pub alias: bool,
    /// Expiry; it may be in the past.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Time of creation; if omitted, now.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub created_at: Option<Timestamp>,
    /// Time of the last change; if omitted, the time of creation.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Timestamp>,
    /// Version.
    #[serde(default, deserialize_with = "web::whole_number")]
    #[schema(minimum = 1, maximum = 4_503_599_627_370_496_i64)]
    pub version: Option<i64>,
    /// Whether the link is banned.
    #[serde(default)]
    pub banned: bool,
    /// Clicks by day, those of people and those of bots: `2026-11-25:12/3 2026-11-26:0/1`. At most 366 days; older clicks are added to
    /// the first of them. An export has them if it is asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-11-25:12/3 2026-11-26:0/1")]
    pub clicks: Option<String>,
}

impl TransferRow {
    /// Validates the row. `host` is the request's `Host` header.
    ///
    /// # Errors
    /// The reason, in lower case and without a full stop.
    pub fn check(&self, rules: &TargetRules, host: Option<&str>) -> Result<ImportRow, String> {
        let target = rules.check(&self.target, host).map_err(|why| why.to_string())?;
        let code = self.code.as_deref().map(Code::alias).transpose().map_err(|why| why.to_string())?;
        if self.version.is_some_and(|version| !(1..=VERSION_MAX).contains(&version)) {
            return Err(format!("version: must be from 1 to {VERSION_MAX}"));
        }
        let clicks = self.clicks.as_deref().unwrap_or_default().parse::<ClickHistory>();
        let clicks = clicks.map_err(|why| format!("clicks: {why}"))?;
        Ok(ImportRow {
            code,
            alias: self.alias,
            target,
            expires_at: self.expires_at,
            created_at: self.created_at,
            updated_at: self.updated_at,
            version: self.version,
            banned: self.banned,
            clicks,
        })
    }

    /// The value of a column as text; empty if it is missing.
    pub(super) fn text(&self, column: Column) -> String {
        let time = |time: Option<Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
        match column {
            Column::Code => self.code.clone().unwrap_or_default(),
            Column::Target => self.target.clone(),
            Column::Alias => self.alias.to_string(),
            Column::ExpiresAt => time(self.expires_at),
            Column::CreatedAt => time(self.created_at),
            Column::UpdatedAt => time(self.updated_at),
            Column::Version => self.version.map(|version| version.to_string()).unwrap_or_default(),
            Column::Banned => self.banned.to_string(),
            Column::Clicks => self.clicks.clone().unwrap_or_default(),
        }
    }
}

impl TransferRow {
    /// The rows of an export with the clicks of each link, and their row numbers.
    ///
    /// # Errors
    /// As [`Store::click_histories`].
    pub(crate) async fn with_clicks(store: &Store, links: Vec<(i64, Link)>) -> Result<Vec<(i64, Self)>, StoreError> {
        let codes: Vec<Code> = links.iter().map(|(_, link)| link.code.clone()).collect();
        let histories = store.click_histories(&codes).await?;
        let row = |(number, link): (i64, Link)| {
            let clicks = histories.get(&link.code).map(ToString::to_string);
            (number, Self { clicks, ..link.into() })
        };
        Ok(links.into_iter().map(row).collect())
    }
}

impl From<Link> for TransferRow {
    fn from(link: Link) -> Self {
        Self {
            code: Some(link.code.to_string()),
            target: link.target.as_str().to_owned(),
            alias: link.alias,
            expires_at: link.expires_at,
            created_at: Some(link.created_at),
            updated_at: Some(link.updated_at),
            version: Some(link.version),
            banned: link.banned,
            clicks: None,
        }
    }
}

/// The columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Code,
    Target,
    Alias,
    ExpiresAt,
    CreatedAt,
    UpdatedAt,
    Version,
    Banned,
    Clicks,
}

impl Column {
    /// All columns, in the order of an export.
    pub(super) const ALL: [Self; 9] = [
        Self::Code,
        Self::Target,
        Self::Alias,
        Self::ExpiresAt,
        Self::CreatedAt,
        Self::UpdatedAt,
        Self::Version,
        Self::Banned,
        Self::Clicks,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Target => "target",
            Self::Alias => "alias",
            Self::ExpiresAt => "expires_at",
            Self::CreatedAt => "created_at",
            Self::UpdatedAt => "updated_at",
            Self::Version => "version",
            Self::Banned => "banned",
            Self::Clicks => "clicks",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }
}

/// The value of `alias`: whether the code is one (as in an export), or the alias itself (as in the API).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AliasValue {
    Flag(bool),
    Name(String),
}

/// A row whose fields are being parsed.
#[derive(Default)]
pub(super) struct PartialRow {
    code: Option<String>,
    target: Option<String>,
    alias: Option<AliasValue>,
    expires_at: Option<Timestamp>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    version: Option<i64>,
    banned: bool,
    clicks: Option<String>,
}

impl PartialRow {
    /// Sets a field from text. For `alias`, `true` and `false` are flags; a link with such an alias is written with `code`.
    pub(super) fn set(&mut self, column: Column, text: &str) -> Result<(), String> {
        match column {
            Column::Code => self.code = Some(text.to_owned()),
            Column::Target => self.target = Some(text.to_owned()),
            Column::Alias => {
                self.alias = Some(flag(text).map_or_else(|| AliasValue::Name(text.to_owned()), AliasValue::Flag));
            }
            Column::ExpiresAt => self.expires_at = Some(time(column, text)?),
            Column::CreatedAt => self.created_at = Some(time(column, text)?),
            Column::UpdatedAt => self.updated_at = Some(time(column, text)?),
            Column::Version => {
                let version = text.parse().map_err(|_| format!("version: must be a whole number, not {text:?}"))?;
                self.version = Some(version);
            }
            Column::Clicks => self.clicks = Some(text.to_owned()),
            Column::Banned => {
                self.banned = flag(text).ok_or_else(|| format!("banned: must be true or false, not {text:?}"))?;
            }
        }
        Ok(())
    }

    pub(super) fn set_alias(&mut self, alias: AliasValue) {
        self.alias = Some(alias);
    }

    pub(super) fn finish(self) -> Result<TransferRow, String> {
        let target = self.target.ok_or("no target")?;
        let (code, alias) = match (self.code, self.alias) {
            (None, Some(AliasValue::Flag(true))) => return Err("alias is true, but there is no code".to_owned()),
            (None, Some(AliasValue::Name(name))) => (Some(name), true),
            (None, None | Some(AliasValue::Flag(false))) => (None, false),
            (Some(code), Some(AliasValue::Name(name))) if code != name => {
                return Err(format!("code {code:?} and alias {name:?} differ"));
            }
            (Some(code), Some(AliasValue::Flag(flag))) => (Some(code), flag),
            // A code counts as chosen unless the row says otherwise.
            (Some(code), None | Some(AliasValue::Name(_))) => (Some(code), true),
        };
        let Self { expires_at, created_at, updated_at, version, banned, clicks, .. } = self;
        Ok(TransferRow { code, target, alias, expires_at, created_at, updated_at, version, banned, clicks })
    }
}

/// Spreadsheet programs write `TRUE` and `FALSE`.
fn flag(text: &str) -> Option<bool> {
    text.to_ascii_lowercase().parse().ok()
}

fn time(column: Column, text: &str) -> Result<Timestamp, String> {
    let name = column.name();
    text.parse().map_err(|_| format!("{name}: {text:?} is not an RFC 3339 timestamp such as 2030-01-01T00:00:00Z"))
}
