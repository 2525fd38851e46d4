//! The service as its users meet it: over HTTP, in a browser, with servers that fail behind it.

mod api;
mod browser;
mod bulk;
mod client;
mod ends;
mod faults;
mod forms;
mod hosts;
mod load;
mod openapi;
mod problems;
mod readme;
mod redirects;
mod server;
mod shared;
mod stop;
