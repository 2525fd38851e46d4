//! The library's own tables: created, upgraded, and next to a program's own.

mod migrations;
mod older;
mod own_migrations;
mod under_load;
