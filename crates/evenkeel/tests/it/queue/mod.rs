//! The delay queue: its protocol on both backends, and that they agree.

mod record;
mod scripts;
