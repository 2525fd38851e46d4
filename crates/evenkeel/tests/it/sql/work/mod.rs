//! The unit of work, on each database.

mod attacked;
mod clocks;
mod commits;
mod foreign;
mod killed;
mod lost;
mod migrations;
mod older;
mod order;
mod own_migrations;
mod under_load;
mod unknown;
mod windows;
