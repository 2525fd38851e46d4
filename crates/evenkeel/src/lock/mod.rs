//! Locks whose fences SQL can check.
