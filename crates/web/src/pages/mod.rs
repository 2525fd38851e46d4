//! HTML pages: their layout, what their forms share, the embedded assets, and the API documentation.

pub mod asset;
pub mod docs;
pub mod forms;
pub mod site;
