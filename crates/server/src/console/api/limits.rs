//! Limits of fields in the OpenAPI document that a derived schema cannot state: texts that are counted in bytes, Base64, times, and one field of two.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
use web::documents::text_of_bytes;

/// The key of an entry of a cache.
pub(super) fn cache_key() -> RefOr<Schema> {
    let description = "As Redis shows it between the braces, or as the program has it; in a tuple, `\\,` is a comma of a part. \
                       At most 4,096 bytes.";
    text_of_bytes(1, 4_096, description)
}

/// A key of an entry of a stream.
pub(super) fn entry_key() -> RefOr<Schema> {
    text_of_bytes(0, 512, "Entries of one key are handled in the order in which they were appended. At most 512 bytes.")
}

/// The name of a lock.
pub(super) fn lock_name() -> RefOr<Schema> {
    text_of_bytes(1, 512, "At most 512 bytes.")
}

/// [`lock_name`] of a parameter, whose description and `required` the attribute `schema_with` drops.
pub(super) struct LockNameText;

impl PartialSchema for LockNameText {
    fn schema() -> RefOr<Schema> {
        lock_name()
    }
}

impl ToSchema for LockNameText {}

/// The metadata of a lock.
pub(super) fn metadata() -> RefOr<Schema> {
    text_of_bytes(0, 1_024, "What operators see of the holder. At most 1,024 bytes.")
}

/// The id of a job that its sender chose.
pub(super) fn sender_id() -> RefOr<Schema> {
    text_of_bytes(1, 60_000, "The sender's id: the same job is added once. At most 60,000 bytes.")
}

/// A unique key.
pub(super) fn unique_key() -> RefOr<Schema> {
    text_of_bytes(1, 60_000, "At most 60,000 bytes.")
}

/// The message of a job that failed.
pub(super) fn error_text() -> RefOr<Schema> {
    text_of_bytes(0, 60_000, "The message, of `failed` and `dead`. At most 60,000 bytes.")
}

/// A body that is not JSON.
pub(super) fn base64() -> RefOr<Schema> {
    let pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";
    text(pattern, "The encoded body, instead of `body`.")
}

/// A time. Those from 1970 to 1973 are refused: they were meant as seconds.
pub(super) fn time() -> RefOr<Schema> {
    text("^(0|[1-9][0-9]{11,12})$", "In milliseconds since 1970; 0: at once.")
}

/// A delay.
pub(super) fn delay() -> RefOr<Schema> {
    text("^[0-9]{1,13}$", "In milliseconds.")
}

fn text(pattern: &str, description: &str) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    text.description(Some(description)).into()
}

/// A request of which exactly one of two fields is there.
pub(super) fn exactly_one(request: RefOr<Schema>, fields: [&str; 2]) -> RefOr<Schema> {
    let [one, other] = fields.map(|field| ObjectBuilder::new().schema_type(Type::Object).required(field));
    let either = OneOfBuilder::new().item(one).item(other);
    AllOfBuilder::new().item(request).item(either).into()
}
