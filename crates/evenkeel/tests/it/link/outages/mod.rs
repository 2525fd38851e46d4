//! A server that goes away, falls silent or changes its role; and the end of a link.

mod lifetime;
mod outlived;
mod recovery;
mod roles;
mod silence;
mod storm;
