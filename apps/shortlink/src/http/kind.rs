//! The kinds of problem that only this service has. Those that every service has are [`Kind`]'s own.

use axum::http::StatusCode;
use web::Kind;

/// No link has this code.
pub(crate) const UNKNOWN_CODE: Kind = Kind::new(
    StatusCode::NOT_FOUND,
    "unknown-code",
    "Unknown code",
    "No link has this code. Codes are case-sensitive.",
);

/// The alias belongs to another link.
pub(crate) const ALIAS_TAKEN: Kind = Kind::new(
    StatusCode::CONFLICT,
    "alias-taken",
    "Alias taken",
    "Another link has this alias. Choose another one, or leave it out to get a code.",
);

/// The alias is an address of this service itself.
pub(crate) const ALIAS_RESERVED: Kind = Kind::new(
    StatusCode::CONFLICT,
    "alias-reserved",
    "Alias reserved",
    "The service needs this word for itself. Choose another one.",
);

/// The link was there and is over.
pub(crate) const LINK_EXPIRED: Kind = Kind::new(
    StatusCode::GONE,
    "link-expired",
    "Link expired",
    "The link's `expires_at` has passed. It can still be read, prolonged and deleted through the API.",
);

/// `If-Match` named a version that is not the link's.
pub(crate) const VERSION_CONFLICT: Kind = Kind::new(
    StatusCode::PRECONDITION_FAILED,
    "version-conflict",
    "Changed meanwhile",
    "The link was changed since the version named in `If-Match`. Read it again, then repeat the change if it is still wanted.",
);

/// Somebody has forbidden the link.
pub(crate) const LINK_BANNED: Kind = Kind::new(
    StatusCode::GONE,
    "link-banned",
    "Link banned",
    "The link was banned. It can still be read, changed and deleted through the API, where `\"banned\": false` lifts the ban.",
);

/// The cache cannot confirm a write.
pub(crate) const CACHE_UNCONFIRMED: Kind = Kind::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "cache-unconfirmed",
    "Cache cannot confirm",
    "The service keeps its caches strong (`--consistency strong`): no write begins that Redis has not confirmed, and it cannot be asked now. Nothing was changed; try again.",
);

/// As many writes wait for the database as may.
pub(crate) const WRITES_WAIT: Kind = Kind::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "writes-wait",
    "Too many writes wait",
    "As many writes wait for the database as may (`--spool-bytes-max`). This one was not taken; try again.",
);

/// All that the documentation page has to explain beside the common ones.
pub(crate) const OWN: &[Kind] = &[
    UNKNOWN_CODE,
    ALIAS_TAKEN,
    ALIAS_RESERVED,
    LINK_EXPIRED,
    LINK_BANNED,
    VERSION_CONFLICT,
    Kind::INVALID_INPUT,
    CACHE_UNCONFIRMED,
    WRITES_WAIT,
];
