//! The service as its users meet it: over HTTP, in a browser, with servers that fail behind it.

mod api;
mod bulk;
mod client;
mod forms;
mod hosts;
mod openapi;
mod problems;
mod redirects;
mod server;
mod stop;
