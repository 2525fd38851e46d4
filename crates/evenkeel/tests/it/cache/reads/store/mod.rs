//! A store that is away, and a store with the data of other programs.

mod breaker;
mod foreign;
mod neighbors;
mod outage;
mod switches;
mod unreadable;
