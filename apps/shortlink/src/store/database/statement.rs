//! [`Statement`]: the text and values of a statement, independent of the database.

use std::borrow::Cow;

/// A statement for any of the databases.
#[derive(Debug)]
pub(in crate::store) struct Statement(Vec<Part>);

#[derive(Debug)]
pub(in crate::store) enum Part {
    Text(Cow<'static, str>),
    Value(Value),
}

/// A value of a statement.
#[derive(Debug)]
pub(in crate::store) enum Value {
    Int(i64),
    MaybeInt(Option<i64>),
    Flag(bool),
    Text(String),
    Bytes(Vec<u8>),
}

impl Statement {
    pub(in crate::store) fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// Appends text.
    pub(in crate::store) fn text(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Appends a bound value.
    pub(in crate::store) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.0.push(Part::Value(value.into()));
        self
    }

    /// Appends bound values in parentheses, separated by commas.
    pub(in crate::store) fn list<V: Into<Value>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        let mut separator = "(";
        for value in values {
            self = self.text(separator).bind(value);
            separator = ", ";
        }
        self.text(")")
    }

    pub(in crate::store) fn into_parts(self) -> Vec<Part> {
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
