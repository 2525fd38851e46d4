//! What an operator reads: the lines of level INFO and above that are written on this thread, each with the fields of its spans.

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
        let gatherer = Gatherer { lines: Arc::clone(&lines), spans: Mutex::default(), entered: Mutex::default() };
        let guard = tracing::subscriber::set_default(gatherer);
        Self { lines, _guard: guard }
    }

    /// Forgets what was written so far.
    pub(crate) fn forget(&self) {
        self.lines.lock().unwrap().clear();
    }

    /// Whether no line with this text was written so far.
    pub(crate) fn lacks(&self, words: &str) -> bool {
        self.lines.lock().unwrap().iter().all(|line| !line.contains(words))
    }

    /// Exactly one line with each of these texts was written, in this order, and no other warning or error.
    pub(crate) fn says(&self, expected: &[&str]) {
        let lines = self.lines.lock().unwrap();
        let trouble =
            lines.iter().filter(|line| expected.iter().any(|words| line.contains(words)) || !line.starts_with("INFO"));
        let trouble: Vec<&String> = trouble.collect();
        let fits =
            trouble.len() == expected.len() && trouble.iter().zip(expected).all(|(line, words)| line.contains(words));
        assert!(fits, "expected {expected:?}, but read {lines:#?}");
    }

    /// The lines with these texts contain this, in order.
    pub(super) fn each_says(&self, words: &str, expected: &[&str]) {
        let lines = self.lines.lock().unwrap();
        let lines: Vec<&String> = lines.iter().filter(|line| line.contains(words)).collect();
        let fits =
            lines.len() == expected.len() && lines.iter().zip(expected).all(|(line, expected)| line.contains(expected));
        assert!(fits, "expected {expected:?}, but read {lines:#?}");
    }
}

struct Gatherer {
    lines: Lines,
    /// The fields of every span, by its number.
    spans: Mutex<Vec<Line>>,
    entered: Mutex<Vec<Id>>,
}

impl Gatherer {
    fn with_span<T>(&self, id: &Id, with: impl FnOnce(&mut Line) -> T) -> T {
        with(&mut self.spans.lock().unwrap()[usize::try_from(id.into_u64()).unwrap() - 1])
    }
}

impl Subscriber for Gatherer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(String::new());
        span.record(&mut line);
        let mut spans = self.spans.lock().unwrap();
        spans.push(line);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.with_span(id, |line| values.record(line));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        for id in &*self.entered.lock().unwrap() {
            self.with_span(id, |span| line.0.push_str(&span.0));
        }
        self.lines.lock().unwrap().push(line.0);
    }

    fn enter(&self, id: &Id) {
        self.entered.lock().unwrap().push(id.clone());
    }

    fn exit(&self, _: &Id) {
        self.entered.lock().unwrap().pop();
    }
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
