//! [`Statement`]: the text and the parameters of a statement, independent of the database's placeholder syntax.

use std::borrow::Cow;

/// A statement for any of the databases.
#[derive(Debug)]
pub struct Statement(Vec<Part>);

#[derive(Debug)]
pub(super) enum Part {
    Text(Cow<'static, str>),
    Value(Value),
}

/// A parameter of a statement.
#[derive(Clone, Debug)]
pub enum Value {
    /// An integer.
    Int(i64),
    /// An integer or NULL.
    OptionalInt(Option<i64>),
    /// A boolean.
    Bool(bool),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Statement {
    /// A statement that begins with `text`.
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// A statement with `values` for the placeholders `?` of `text`, in order. The text must not contain `?` in a literal.
    #[must_use]
    pub fn with_values(text: &str, values: impl IntoIterator<Item = Value>) -> Self {
        let mut pieces = text.split('?');
        let first = pieces.next().unwrap_or_default().to_owned();
        let parameters = values.into_iter().zip(pieces);
        parameters.fold(Self::new(first), |statement, (value, text)| statement.bind(value).text(text.to_owned()))
    }

    /// Appends text.
    #[must_use]
    pub fn text(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Appends a parameter.
    #[must_use]
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.0.push(Part::Value(value.into()));
        self
    }

    /// Appends a list of parameters in parentheses.
    #[must_use]
    pub fn list<V: Into<Value>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        let mut separator = "(";
        for value in values {
            self = self.text(separator).bind(value);
            separator = ", ";
        }
        self.text(")")
    }

    pub(super) fn into_parts(self) -> Vec<Part> {
        self.0
    }
}

macro_rules! values_from {
    ($($variant:ident: $type:ty),+) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }
    )+};
}

values_from!(Int: i64, OptionalInt: Option<i64>, Bool: bool, Text: String, Bytes: Vec<u8>);

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
