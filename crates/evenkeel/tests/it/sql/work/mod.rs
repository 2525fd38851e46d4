//! The unit of work, on each database.

mod attacked;
mod clocks;
mod commits;
mod foreign;
mod hostile;
mod killed;
mod lost;
mod order;
mod session;
mod tables;
mod unknown;
mod windows;
