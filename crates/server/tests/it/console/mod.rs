//! `evenkeel serve` against a real Redis.

mod access;
mod both;
mod demo;
mod pages;
mod processes;
pub(crate) mod routes;
pub(crate) mod server;
mod setup;
pub(crate) mod streams;
mod walk;
