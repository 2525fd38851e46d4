//! `evenkeel serve` against a real Redis.

mod console;
mod pages;
mod routes;
