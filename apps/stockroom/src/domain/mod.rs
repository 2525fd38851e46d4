//! Product names, days, changes of stock, and the names of the strategies. No I/O.

mod change;
mod day;
mod name;
mod page;
mod payment;
mod strategy;

pub use change::{Cause, ChangeRejected, StockChange};
pub use day::{Calendar, Day, InvalidDay};
pub use name::{InvalidName, ProductName};
pub use page::{InvalidPage, PageRequest, ROWS};
pub use payment::{IdempotencyKey, InvalidKey, KEY_CHARACTERS_MAX, PaymentRequested, TestCard, UnknownCard};
pub use strategy::{Strategy, UnknownStrategy};
