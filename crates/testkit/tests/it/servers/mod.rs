//! Servers and programs as children, and the proxy in front of them.

mod client;
mod databases;
mod park;
mod process;
mod proxy;
mod redis;
mod trace;
