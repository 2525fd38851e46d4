//! The web page, with and without its script.

mod browser;
mod forms;
