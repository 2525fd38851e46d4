//! The JSON API of `evenkeel serve` against a real Redis.

mod caller;
mod document;
mod jobs;
mod locks;
mod python;
mod rights;
mod streams;
mod work;
