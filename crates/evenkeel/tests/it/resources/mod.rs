//! What a program holds through a keel, and that all of it is given back with the last handle.

mod ends;
