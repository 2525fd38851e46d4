//! `evenkeel serve` against a real Redis.

mod pages;
mod routes;
mod server;
