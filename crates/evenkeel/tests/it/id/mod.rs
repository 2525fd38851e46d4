//! Ids: the protocol on Redis, its agreement with the model, and texts.

mod extremes;
mod scripts;
mod side_by_side;
