//! `evenkeel serve` against a real Redis.

mod demo;
mod pages;
mod routes;
mod server;
mod walk;
