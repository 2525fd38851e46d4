//! HTML pages: their layout, the embedded assets, and the API documentation.

pub mod asset;
mod docs;
pub mod site;
