//! A complete short-link service built on Evenkeel. The program is a thin wrapper around this library, so that tests can reach it.
//!
//! * [`domain`] — links, codes, targets and their validation. No I/O.
//! * [`codes`] — generated codes: a keyed permutation of a sequence, in Base62. No I/O.
//! * [`store`] — links in SQLite, MySQL/MariaDB or PostgreSQL; the only module with SQL.
//! * [`service`] — the use cases, over the store and the cache. HTTP, the page and the import call it.
//! * [`transfer`] — import and export of TSV, CSV and JSON Lines.
//! * [`http`] and [`page`] — the HTTP API and the web page.
//! * [`config`] — the settings from flags, environment and file.
//! * [`command`] — the commands `serve`, `import` and `export`.

pub mod codes;
pub mod command;
pub mod config;
pub mod domain;
pub mod http;
pub mod page;
pub mod service;
pub mod store;
pub mod transfer;
