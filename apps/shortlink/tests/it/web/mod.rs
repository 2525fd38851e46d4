//! The service as its users meet it: over HTTP, in a browser, with servers that fail behind it.

mod api;
mod client;
mod fleet;
mod page;
mod server;
