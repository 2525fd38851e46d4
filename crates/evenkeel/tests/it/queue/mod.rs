//! The delay queue: its protocol on both backends, and that they agree; then the user's side.

mod record;
mod scripts;
mod side;
