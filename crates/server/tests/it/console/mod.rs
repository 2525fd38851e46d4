//! `evenkeel serve` against a real Redis.

mod pages;
pub(crate) mod routes;
pub(crate) mod server;
