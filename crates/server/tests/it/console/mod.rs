//! `evenkeel serve` against a real Redis.

mod access;
mod audit;
mod both;
mod dead;
mod demo;
mod pages;
pub(crate) mod processes;
mod rejected;
mod resent;
pub(crate) mod routes;
pub(crate) mod server;
mod setup;
pub(crate) mod streams;
mod texts;
mod tokens;
mod walk;
