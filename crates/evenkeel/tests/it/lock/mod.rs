//! Locks: their protocol on both backends, and that they agree; then the user's side.

mod fence;
mod redlock;
mod scripts;
mod side;
mod side_by_side;
