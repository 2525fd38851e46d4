//! What a request carries: body, query, form, host and request id.

mod extract;
pub(crate) mod host;
mod short_id;

pub use extract::{Form, JsonBody, Query, whole_number};
pub use host::{Host, OwnAddress};
pub use short_id::{ShortId, X_SHORT_ID};
