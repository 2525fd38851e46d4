//! Limits of fields in the OpenAPI document that a derived schema cannot state: texts that are counted in bytes, Base64, times, and one field of two.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use web::documents::text_of_bytes;

/// A key of an entry of a stream.
pub(super) fn entry_key() -> RefOr<Schema> {
    text_of_bytes(0, 512, "Entries of one key are handled in the order in which they were appended. At most 512 bytes.")
}

/// The name of a lock.
pub(super) fn lock_name() -> RefOr<Schema> {
    text_of_bytes(1, 512, "At most 512 bytes.")
}

/// The metadata of a lock.
pub(super) fn metadata() -> RefOr<Schema> {
    text_of_bytes(0, 1_024, "What operators see of the holder. At most 1,024 bytes.")
}

/// A body that is not JSON.
pub(super) fn base64() -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let text = text.pattern(Some("^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"));
    text.description(Some("The encoded body, instead of `body`.")).into()
}

/// A time, or a span, in ms.
pub(super) fn ms() -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[0-9]{1,13}$"));
    text.description(Some("A span, or a time since 1970, in milliseconds.")).into()
}

/// A request of which exactly one of two fields is there.
pub(super) fn exactly_one(request: RefOr<Schema>, fields: [&str; 2]) -> RefOr<Schema> {
    let [one, other] = fields.map(|field| ObjectBuilder::new().schema_type(Type::Object).required(field));
    let either = OneOfBuilder::new().item(one).item(other);
    AllOfBuilder::new().item(request).item(either).into()
}
