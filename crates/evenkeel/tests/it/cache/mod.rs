//! The cache: its header, its embedded store, and the conformance of both backends.

mod conformance;
mod header;
<<<<<<< HEAD
mod published;
mod side_by_side;
=======
mod reads;
>>>>>>> 792ffd4 (Cache: the stories of reads, flights, failures and refreshes on both backends, and their guards)
mod store;
