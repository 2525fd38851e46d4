//! What an operator reads: the lines of level INFO and above that are written on this thread.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// Lines are gathered for as long as this lives.
pub(crate) struct Log {
    lines: Lines,
    _guard: DefaultGuard,
}

type Lines = Arc<Mutex<Vec<String>>>;

impl Log {
    /// Begins to gather. All tasks of the test must run on its thread.
    pub(crate) fn begin() -> Self {
        let lines = Lines::default();
        let guard = tracing::subscriber::set_default(Gatherer(Arc::clone(&lines)));
        Self { lines, _guard: guard }
    }

    /// Forgets what was written so far.
    pub(crate) fn forget(&self) {
        self.lines.lock().unwrap().clear();
    }

    /// Exactly one line with each of these words was written, in this order, and no other warning or error.
    pub(crate) fn says(&self, wanted: &[&str]) {
        let lines = self.lines.lock().unwrap();
        let trouble =
            lines.iter().filter(|line| wanted.iter().any(|words| line.contains(words)) || !line.starts_with("INFO"));
        let trouble: Vec<&String> = trouble.collect();
        let fits =
            trouble.len() == wanted.len() && trouble.iter().zip(wanted).all(|(line, words)| line.contains(words));
        assert!(fits, "wanted {wanted:?}, but read {lines:#?}");
    }
}

struct Gatherer(Lines);

impl Subscriber for Gatherer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            write!(self.0, " {value:?}").unwrap();
        } else {
            write!(self.0, " {}={value:?}", field.name()).unwrap();
        }
    }
}
