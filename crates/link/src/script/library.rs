//! Libraries of functions. Redis compiles a library once; a script is run from its first line on every call, and creates its functions again.

use super::{Script, text};
use crate::support::guard::guard;
use redis::Pipeline;
use std::ptr;
use std::sync::OnceLock;

/// The steps of a capability as one library of Redis functions. Its name, and that of each function, has a hash of the text, so that several
/// versions of a program use one server.
#[derive(Debug)]
pub struct Library {
    pub(super) name: &'static str,
    /// The Lua functions and constants that the steps share, each after those that it uses.
    pub(super) parts: &'static [&'static str],
    pub(super) steps: &'static [&'static Script],
    prepared: OnceLock<Prepared>,
}

/// What is derived from the text of a library.
#[derive(Debug)]
struct Prepared {
    name: String,
    text: String,
    /// The name of each step's function, in the order of the steps.
    functions: Box<[String]>,
}

impl Library {
    /// The library `evenkeel_{name}_{hash}`. Declare it as a `static`, next to its steps.
    #[must_use]
    pub const fn new(name: &'static str, parts: &'static [&'static str], steps: &'static [&'static Script]) -> Self {
        Self { name, parts, steps, prepared: OnceLock::new() }
    }

    /// The name of the function that is this step; `None` for one that the library does not list.
    pub(super) fn function(&self, step: &Script) -> Option<&str> {
        let place = self.steps.iter().position(|listed| ptr::eq(*listed, step))?;
        self.prepared().functions.get(place).map(String::as_str)
    }

    fn prepared(&self) -> &Prepared {
        self.prepared.get_or_init(|| {
            let (name, text, functions) = text::of_library(self);
            Prepared { name, text, functions: functions.into() }
        })
    }
}

/// The libraries of these scripts.
fn of<'a>(scripts: impl IntoIterator<Item = &'a &'static Script>) -> Vec<&'static Library> {
    let mut found: Vec<&'static Library> = Vec::new();
    for library in scripts.into_iter().filter_map(|script| script.library) {
        if !found.iter().any(|listed| ptr::eq(*listed, library)) {
            found.push(library);
        }
    }
    found
}

/// The names of the libraries of these scripts.
pub(crate) fn libraries(scripts: &[&'static Script]) -> Vec<String> {
    of(scripts).into_iter().map(|library| library.prepared().name.clone()).collect()
}

/// A function that does not exist: the answer to its call says whether this server and user have `FCALL`, in ASCII. That to a call with bytes
/// would quote them, and the connection with such an answer is closed.
pub(crate) const UNKNOWN_FUNCTION: &str = "no_such_function";

/// The commands that load these scripts: as functions of their libraries, or all as scripts.
pub(crate) fn load(scripts: &[&'static Script], as_functions: bool) -> Pipeline {
    let mut load = Pipeline::new();
    let libraries = if as_functions { of(scripts) } else { Vec::new() };
    for library in &libraries {
        load.cmd("FUNCTION").arg("LOAD").arg(&library.prepared().text);
    }
    if !libraries.is_empty() && guard("link_fcall_probed") {
        load.cmd("FCALL").arg(UNKNOWN_FUNCTION).arg(0);
    }
    for script in scripts.iter().filter(|script| script.library.is_none() || !as_functions) {
        load.cmd("SCRIPT").arg("LOAD").arg(script.text());
    }
    load
}
