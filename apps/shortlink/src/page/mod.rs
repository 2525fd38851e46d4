//! The page to create, find, edit and delete links.
