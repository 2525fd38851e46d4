//! Broken connections, servers that evict, data of other programs, and user code that misbehaves.

mod eviction;
mod faults;
mod foreign;
mod hostile;
