//! [`Statement`]: text and values of a statement, before it is known which database it is for.

use std::borrow::Cow;

/// A statement for any of the databases.
#[derive(Debug)]
pub(super) struct Statement(Vec<Part>);

#[derive(Debug)]
pub(super) enum Part {
    Text(Cow<'static, str>),
    Value(Value),
}

/// A value of a statement.
#[derive(Debug)]
pub(super) enum Value {
    Int(i64),
    MaybeInt(Option<i64>),
    Flag(bool),
    Text(String),
    Bytes(Vec<u8>),
}

impl Statement {
    pub(super) fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// More text.
    pub(super) fn text(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// A value where the text has come to.
    pub(super) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.0.push(Part::Value(value.into()));
        self
    }

    /// Values in brackets, separated by commas.
    pub(super) fn list<V: Into<Value>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
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

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::MaybeInt(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}
