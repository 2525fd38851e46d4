//! Several transactions want the same rows.

mod locking;
mod retry;
mod sentences;
