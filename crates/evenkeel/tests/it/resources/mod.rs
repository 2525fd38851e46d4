//! What a program holds through a keel, and that all of it is freed with the last handle.

pub(crate) mod ends;
mod near;
