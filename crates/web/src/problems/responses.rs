//! [`problems!`](crate::problems!): groups of problems as responses in the OpenAPI document.

use crate::Kind;
use std::collections::BTreeMap;
use utoipa::openapi::{Content, Ref, RefOr, Response};

/// Declares groups of problems that handlers list among their responses:
/// `problems! { /// Problems of a lookup. ReadProblems: Kind::UNAVAILABLE, kind::UNKNOWN; }`
#[macro_export]
macro_rules! problems {
    ($($(#[doc = $doc:literal])* $name:ident: $($kind:expr),+;)*) => {$(
        $(#[doc = $doc])*
        pub(super) struct $name;

        impl ::utoipa::IntoResponses for $name {
            fn responses() -> ::std::collections::BTreeMap<String, ::utoipa::openapi::RefOr<::utoipa::openapi::Response>> {
                $crate::problems::responses(&[$($kind),+])
            }
        }
    )*};
}

/// One response per status; kinds with the same status share it.
#[must_use]
pub fn responses(kinds: &[Kind]) -> BTreeMap<String, RefOr<Response>> {
    let mut titles: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for kind in kinds {
        titles.entry(kind.status.as_str().to_owned()).or_default().push(kind.title);
    }
    titles.into_iter().map(|(status, titles)| (status, RefOr::T(response(&titles.join(" · "))))).collect()
}

fn response(description: &str) -> Response {
    let mut response = Response::new(description);
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    response.content.insert("application/problem+json".to_owned(), content.into());
    response
}
