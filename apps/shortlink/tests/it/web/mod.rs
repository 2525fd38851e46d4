//! The service as its users meet it: over HTTP, in a browser, with servers that fail behind it.

mod api;
mod bans;
mod behind;
mod browser;
mod bulk;
mod client;
mod ends;
mod faults;
mod forms;
mod hosts;
mod load;
mod openapi;
mod outage;
mod plug;
mod problems;
mod readme;
mod redirects;
mod server;
mod shared;
mod stop;
