//! The JSON API, redirects and hosts.

mod bans;
mod bulk;
mod clicks;
mod hosts;
mod links;
mod openapi;
mod problems;
mod readme;
mod redirects;
mod texts;
mod ways;
