//! A complete short-link service built on Evenkeel: a program to run, and the library its tests reach.
//!
//! * [`domain`] — what a link is, and what may become one. No I/O.
//! * [`codes`] — short codes: a keyed permutation of a sequence, written in Base62. No I/O.
//! * [`store`] — links in SQLite, MySQL/MariaDB or PostgreSQL; the only folder with SQL.
//! * [`service`] — the use cases, over store and cache. What HTTP, the page and the import call.
//! * [`transfer`] — import and export of TSV, CSV and JSON lines.
//! * [`http`] and [`page`] — the service's face.
//! * [`config`] — flags, environment and file become one checked configuration.
//! * [`command`] — what the program `shortlink` does with its arguments.

pub mod codes;
pub mod command;
pub mod config;
pub mod domain;
pub mod http;
pub mod page;
pub mod service;
pub mod store;
pub mod transfer;
