//! Receives goods and reserves them for orders. One rule holds under every locking strategy: a stock is never negative and never above
//! its limit.
//!
//! * [`domain`] — product names, days, changes of stock, and the names of the strategies. No I/O.
//! * [`store`] — tables in SQLite, MySQL/MariaDB or PostgreSQL; the only folder with SQL.
//! * [`strategy`] — the locking strategies, one file each.
//! * [`service`] — the use cases of the API, the page and the load test.
//! * [`http`] and [`page`] — the API and the page.
//! * [`load`] — the load test: concurrent changes by every strategy with injected faults, and its report.
//! * [`config`] — the settings.
//! * [`command`] — the commands of the program `stockroom`.

pub mod command;
pub mod config;
pub mod domain;
pub mod http;
pub mod load;
pub mod page;
pub mod service;
pub mod store;
pub mod strategy;
