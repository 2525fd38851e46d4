//! The problem kinds of this service. [`Kind`] has those that the applications share.

use web::Kind;

web::kinds! {
    /// No link has this code.
    pub(crate) UNKNOWN_CODE = NOT_FOUND, "unknown-code", "Unknown code",
        "No link has this code. Codes are case-sensitive.";
    /// The alias belongs to another link.
    pub(crate) ALIAS_TAKEN = CONFLICT, "alias-taken", "Alias taken",
        "Another link has this alias. Choose another alias, or omit it to get a generated code.";
    /// The alias is a path of this service itself.
    pub(crate) ALIAS_RESERVED = CONFLICT, "alias-reserved", "Alias reserved",
        "This word is reserved for the service's own pages. Choose another alias.";
    /// The link has expired.
    pub(crate) LINK_EXPIRED = GONE, "link-expired", "Link expired",
        "The link's `expires_at` has passed. It can still be read, extended and deleted through the API.";
    /// `If-Match` named another version than the link has.
    pub(crate) VERSION_CONFLICT = PRECONDITION_FAILED, "version-conflict", "Version conflict",
        "The link has changed since the version named in `If-Match`. Read it again, then repeat the change if you still want it.";
    /// An operator banned the link.
    pub(crate) LINK_BANNED = GONE, "link-banned", "Link banned",
        "The link was banned. It can still be read, changed and deleted through the API, where `\"banned\": false` lifts the ban.";
    /// Redis cannot confirm a write (strong consistency).
    pub(crate) CACHE_UNCONFIRMED = SERVICE_UNAVAILABLE, "cache-unconfirmed", "Cache did not confirm",
        "With `--consistency strong` a write begins only after Redis has confirmed it, and Redis cannot be reached. Nothing was changed; try again.";
    /// The write-behind spool is full.
    pub(crate) WRITES_WAIT = SERVICE_UNAVAILABLE, "writes-wait", "Too many pending writes",
        "The writes that wait for the database fill the spool (`--spool-bytes-max`). Nothing was changed; try again.";
}

/// The kinds that the documentation page explains in addition to the common ones.
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
