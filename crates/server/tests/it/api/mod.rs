//! The JSON API of `evenkeel serve` against a real Redis.

pub(crate) mod caller;
mod document;
mod faults;
mod jobs;
mod locks;
mod python;
mod rights;
mod streams;
mod work;
