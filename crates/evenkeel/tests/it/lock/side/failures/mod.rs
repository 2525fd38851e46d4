//! Broken connections, data of other programs, and user code that misbehaves.

mod faults;
mod foreign;
mod hostile;
