//! The JSON shapes of the API.

use crate::domain::{Link, Page, PageRequest, TARGET_BYTES_MAX};
use crate::http::invalid_page;
use crate::service::{Draft, DraftPatch};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{IntoParams, ToSchema};
use web::documents::text_of_bytes;
use web::{FieldError, Host, Kind, OwnAddress, Problem};

/// A link to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateLink {
    /// Target: an `http://` or `https://` address of at most 8,000 bytes, kept byte for byte.
    #[schema(
        max_length = 8000,
        pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^/\\\s]\S*$",
        example = "https://www.rfc-editor.org/rfc/rfc9457.html"
    )]
    pub(super) target: String,
    /// Alias; if omitted, a code of seven characters is generated.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$", example = "problem-details")]
    pub(super) alias: Option<String>,
    /// Expiry (RFC 3339), in the future; if omitted, never.
    #[schema(format = DateTime, example = "2030-01-01T00:00:00Z")]
    pub(super) expires_at: Option<String>,
}

/// Changes of a link (JSON merge patch, RFC 7396): an omitted field keeps its value, `null` removes it.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeLink {
    /// New target.
    #[serde(default, deserialize_with = "present")]
    #[schema(
        value_type = Option<String>, nullable = false, max_length = 8000, pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^/\\\s]\S*$",
        example = "https://www.rfc-editor.org/rfc/rfc9110.html"
    )]
    pub(super) target: Option<Option<String>>,
    /// Expiry (RFC 3339), in the future; `null`: never.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime, example = "2031-01-01T00:00:00Z")]
    pub(super) expires_at: Option<Option<String>>,
    /// `true` bans the link: it answers 410 Gone. `false` lifts the ban.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<bool>, nullable = false, example = false)]
    pub(super) banned: Option<Option<bool>>,
}

/// A link.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LinkBody {
    /// Code of the link, case-sensitive.
    #[schema(example = "problem-details")]
    pub(super) code: String,
    /// Target, byte for byte.
    #[schema(example = "https://www.rfc-editor.org/rfc/rfc9457.html")]
    pub(super) target: String,
    /// The alias; `null` if the code was generated.
    #[schema(example = "problem-details")]
    pub(super) alias: Option<String>,
    /// Expiry; `null`: never. An expired link can still be read here.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) expires_at: Option<Timestamp>,
    /// Whether the link is banned. A banned link can still be read here.
    #[schema(example = false)]
    pub(super) banned: bool,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    pub(super) created_at: Timestamp,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    pub(super) updated_at: Timestamp,
    /// Version; increases with every change. The `ETag` is this number in quotes.
    #[schema(example = 1_795_010_400_000_000_i64)]
    pub(super) version: i64,
    /// The short address.
    #[schema(example = "http://127.0.0.1:8080/problem-details")]
    pub(super) short_url: String,
}

/// A page of links, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LinkPage {
    /// The links of this page.
    pub(super) links: Vec<LinkBody>,
    /// Page number, from 1.
    #[schema(example = 1)]
    pub(super) page: u32,
    /// Page size.
    #[schema(example = 20)]
    pub(super) per_page: u32,
    /// Number of links in the whole list, counted up to 100,000.
    #[schema(example = 1)]
    pub(super) total: u64,
    /// Whether the list is longer than was counted.
    pub(super) total_is_capped: bool,
}

/// Query of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only links whose code or target contains this text; case of A-Z is ignored. At most 8,000 bytes, without NUL.
    #[param(required = false, value_type = SearchText, inline)]
    pub(super) q: Option<String>,
    /// Page number, from 1. Pages reach the newest 100,000 links.
    #[param(default = 1, minimum = 1, maximum = 100_000)]
    pub(super) page: Option<u32>,
    /// Page size, 1 to 200.
    #[param(default = 20, minimum = 1, maximum = 200)]
    pub(super) per_page: Option<u32>,
}

/// The default page size.
pub(super) const PER_PAGE: u32 = 20;

impl CreateLink {
    pub(super) fn draft(self) -> Draft {
        Draft { target: self.target, alias: self.alias, expires_at: self.expires_at }
    }
}

impl ChangeLink {
    /// The unvalidated patch. A target or ban cannot be removed.
    pub(super) fn draft(self) -> Result<DraftPatch, Problem> {
        let target = match self.target {
            Some(None) => {
                let detail = "`target` cannot be null: every link has a target.";
                return Err(Problem::of_fields(Kind::INVALID_INPUT, vec![FieldError::new("target", detail)]));
            }
            target => target.flatten(),
        };
        let banned = match self.banned {
            Some(None) => {
                let detail = "`banned` must be true or false.";
                return Err(Problem::of_field(Kind::INVALID_INPUT, "banned", detail));
            }
            banned => banned.flatten(),
        };
        Ok(DraftPatch { target, expires_at: self.expires_at, banned })
    }
}

impl ListQuery {
    /// The requested page.
    pub(super) fn request(&self) -> Result<PageRequest, Problem> {
        let (page, per_page) = (self.page.unwrap_or(1), self.per_page.unwrap_or(PER_PAGE));
        PageRequest::new(self.q.as_deref(), page, per_page).map_err(|refused| invalid_page(&refused))
    }
}

impl LinkBody {
    /// The API's representation of a link.
    pub(super) fn new(link: &Link, own: &OwnAddress, host: &Host) -> Self {
        LinkBody {
            short_url: own.url(host, link.code.as_str()),
            code: link.code.to_string(),
            target: link.target.as_str().to_owned(),
            alias: link.alias.then(|| link.code.to_string()),
            expires_at: link.expires_at,
            banned: link.banned,
            created_at: link.created_at,
            updated_at: link.updated_at,
            version: link.version,
        }
    }
}

impl LinkPage {
    /// The API's representation of a page.
    pub(super) fn new(page: &Page, request: &PageRequest, own: &OwnAddress, host: &Host) -> Self {
        LinkPage {
            links: page.links.iter().map(|link| LinkBody::new(link, own, host)).collect(),
            page: request.number(),
            per_page: request.size(),
            total: page.total,
            total_is_capped: page.total_is_capped,
        }
    }
}

/// The limits of the text of a search.
struct SearchText;

impl utoipa::PartialSchema for SearchText {
    fn schema() -> RefOr<Schema> {
        text_of_bytes(0, TARGET_BYTES_MAX, "A text without NUL")
    }
}

impl ToSchema for SearchText {}

/// Distinguishes a field that is `null` (`Some(None)`) from an omitted field (`None`).
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
