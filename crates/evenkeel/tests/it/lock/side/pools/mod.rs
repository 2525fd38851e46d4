//! Locks that several may hold at once: semaphores and read/write locks.

mod permits;
mod pool_faults;
mod readers;
