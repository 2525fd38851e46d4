//! Products, days, changes of stock, and the strategies by name. No I/O.

mod change;
mod day;
mod name;
mod page;
mod strategy;

pub use change::{Cause, Change, RefusedChange};
pub use day::{Day, DayRefused, Days};
pub use name::{Name, NameRefused};
pub use page::{PageRefused, PageRequest, ROWS};
pub use strategy::{Strategy, StrategyRefused};
