//! Goods in, goods out, and one rule that must hold: stock is never below nothing and never above its cap.
//!
//! * [`domain`] — products, days, changes of stock, and the strategies by name. No I/O.
//! * [`store`] — tables in SQLite, MySQL/MariaDB or PostgreSQL; the only folder with SQL.
//! * [`strategy`] — the ways to change a stock while others do: one file each.
//! * [`service`] — the use cases. What HTTP, the page and the load command call.
//! * [`http`] and [`page`] — the service's face.
//! * [`load`] — many changes at once by every strategy, with faults, and the table that is printed of it.
//! * [`config`] — flags, environment and file become one checked configuration.
//! * [`command`] — what the program `stockroom` does with its arguments.

pub mod command;
pub mod config;
pub mod domain;
pub mod http;
pub mod load;
pub mod page;
pub mod service;
pub mod store;
pub mod strategy;
