//! The steps of capabilities in Lua: functions of a library in Redis, or scripts that are called by their hash.

mod library;
mod text;

pub use library::Library;
pub(crate) use library::{libraries, load};

use redis::Cmd;
use std::sync::OnceLock;

/// One step of a capability in Lua. Declare it as a `static`; the link adds the shared prelude (time), and names it by a hash of its text.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    /// The flags of the step, such as `allow-oom`; `None` for a script without a shebang line, which Redis checks command by command.
    flags: Option<&'static str>,
    /// The parts that the step uses: Lua functions and constants without state. They stand before the source.
    parts: &'static [&'static str],
    source: &'static str,
    /// The library in which the step is a function; `None` for one that is always a script.
    library: Option<&'static Library>,
    prepared: OnceLock<Prepared>,
}

/// The text that is sent to Redis, and its hash.
#[derive(Debug)]
struct Prepared {
    text: String,
    sha1: String,
}

impl Script {
    /// A script by itself. `name` is the file name without its extension (`lease-1`: the number counts the keys), `source` the file's text.
    #[must_use]
    pub const fn new(name: &'static str, source: &'static str) -> Self {
        Self { name, flags: None, parts: &[], source, library: None, prepared: OnceLock::new() }
    }

    /// Like [`new`](Self::new), for a script that Redis checks before it starts; for `flags` see [`step`](Self::step).
    #[must_use]
    pub const fn with_flags(name: &'static str, flags: &'static str, source: &'static str) -> Self {
        Self { name, flags: Some(flags), parts: &[], source, library: None, prepared: OnceLock::new() }
    }

    /// A step of a library. Its source is the body of a function of `KEYS` and `ARGV`, and may name what `parts` define.
    ///
    /// With empty `flags` a server that is out of memory rejects it as a whole; `allow-oom` is for steps that must work then; `no-writes`
    /// for steps that only read.
    #[must_use]
    pub const fn step(
        library: &'static Library,
        name: &'static str,
        flags: &'static str,
        parts: &'static [&'static str],
        source: &'static str,
    ) -> Self {
        Self { name, flags: Some(flags), parts, source, library: Some(library), prepared: OnceLock::new() }
    }

    /// The file name without its extension.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The file's text, without the prelude and the parts.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Whether a server that is out of memory rejects it as a whole.
    pub(crate) fn needs_room(&self) -> bool {
        self.flags == Some("")
    }

    /// The text that is sent to Redis where the step is a script.
    pub(crate) fn text(&self) -> &str {
        &self.prepared().text
    }

    fn prepared(&self) -> &Prepared {
        self.prepared.get_or_init(|| {
            let text = text::of_script(self);
            let sha1 = redis::Script::new(&text).get_hash().to_owned();
            Prepared { text, sha1 }
        })
    }
}

/// A call of a step.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) script: &'static Script,
    pub(crate) keys: &'a [&'a [u8]],
    pub(crate) args: &'a [&'a [u8]],
}

impl Call<'_> {
    /// The command of the call: of a function, or of a script.
    pub(crate) fn command(&self, as_function: bool) -> Cmd {
        let bytes: usize = self.keys.iter().chain(self.args).map(|part| part.len()).sum();
        let mut cmd = Cmd::with_capacity(3 + self.keys.len() + self.args.len(), bytes + 80);
        match self.script.library.filter(|_| as_function).and_then(|library| library.function(self.script)) {
            Some(function) => cmd.arg("FCALL").arg(function),
            None => cmd.arg("EVALSHA").arg(&self.script.prepared().sha1),
        };
        cmd.arg(self.keys.len());
        for part in self.keys.iter().chain(self.args) {
            cmd.arg(*part);
        }
        cmd
    }
}
