//! The rules of a table, as a program writes them.

use super::key::{Column, KeyError, keys_of};
#[cfg(feature = "cache")]
use crate::cache::{Cache, CacheOfWork};
use crate::cdc::error::CdcError;
use crate::cdc::source::{Change, Kind, Row, Table};
use futures_util::future::BoxFuture;
use std::error::Error;
use std::future::Future;
use std::sync::Arc;

/// A change that a function of the program receives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Changed {
    /// The table.
    pub table: Table,
    /// What happened.
    pub kind: Kind,
    /// The row before, as far as the log has it.
    pub before: Option<Row>,
    /// The row after, as far as the log has it; a column that it leaves out has not changed.
    pub after: Option<Row>,
    /// The position of its group in the log.
    pub position: String,
    /// The fence of this reader: a later reader has a higher one. A function that writes elsewhere compares it, so that a reader that was
    /// paused does not overwrite what its successor wrote.
    pub fence: u64,
}

type Handler = Arc<dyn Fn(Changed) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// What a rule does.
#[derive(Clone)]
pub(in crate::cdc) enum Effect {
    /// Invalidates the entry of the key.
    #[cfg(feature = "cache")]
    Invalidate(Arc<CacheOfWork>),
    /// Calls a function.
    Call(Handler),
}

/// One rule: changes of a table, their key, and the effect.
#[derive(Clone)]
pub(in crate::cdc) struct Rule {
    pub(in crate::cdc) name: Arc<str>,
    /// `None`: any schema.
    schema: Option<Arc<str>>,
    table: Arc<str>,
    columns: Vec<Column>,
    pub(in crate::cdc) effect: Effect,
}

impl Rule {
    pub(in crate::cdc) fn takes(&self, table: &Table) -> bool {
        *self.table == *table.name && self.schema.as_ref().is_none_or(|schema| **schema == *table.schema)
    }

    /// The keys of the entries, or of the calls, that a change concerns.
    pub(in crate::cdc) fn keys(&self, change: &Change) -> Result<Vec<Vec<u8>>, KeyError> {
        keys_of(&self.columns, change)
    }
}

/// The rules of one table, in the order in which they take effect. Each begins with [`cache`](#method.cache) or [`call`](Self::call); a
/// [`key`](Self::key) after it says which columns are its key.
#[must_use = "a table without rules captures nothing"]
pub struct TableRules {
    schema: Option<Arc<str>>,
    table: Arc<str>,
    pub(in crate::cdc) rules: Vec<Rule>,
    wrong: Option<CdcError>,
}

impl TableRules {
    /// `users`, or `public.users`.
    pub(in crate::cdc) fn of(table: &str) -> Self {
        let (schema, name) = match table.split_once('.') {
            Some((schema, name)) => (Some(Arc::from(schema)), name),
            None => (None, table),
        };
        Self { schema, table: Arc::from(name), rules: Vec::new(), wrong: None }
    }

    /// A change invalidates the entries of this cache under its keys: both, if the key itself was changed.
    #[cfg(feature = "cache")]
    pub fn cache<K: ?Sized, V: Send + Sync + 'static>(mut self, cache: &Cache<K, V>) -> Self {
        let cache = cache.of_work();
        if !cache.is_fenced {
            let text =
                format!("cache {:?} does not use the fenced protocol, the only one that rejects old loads", cache.name);
            self.wrong = Some(CdcError::Settings(text));
        }
        let name = Arc::clone(&cache.name);
        self.add(name, Effect::Invalidate(Arc::new(cache)))
    }

    /// Calls `function` with each change, in the order of the log per key. It must be safe to repeat: after a crash, the changes since the
    /// last checkpoint come again.
    ///
    /// If it returns an error it is called again, five times in all; then the key is parked: its changes are skipped until an operator
    /// [releases](super::super::CaptureAdmin::release) it. Other keys go on. `name` identifies the rule in the table of parked keys, and
    /// must stay the same in later versions of the program: 1 to 64 bytes.
    pub fn call<F, Done, E>(self, name: &str, function: F) -> Self
    where
        F: Fn(Changed) -> Done + Send + Sync + 'static,
        Done: Future<Output = Result<(), E>> + Send + 'static,
        E: Error + 'static,
    {
        let handler = move |changed| {
            let done = function(changed);
            let text: BoxFuture<'static, Result<(), String>> =
                Box::pin(async move { done.await.map_err(|error| error.to_string()) });
            text
        };
        self.add(Arc::from(name), Effect::Call(Arc::new(handler)))
    }

    /// The column that is the key of the rule before it: a number, a text, or bytes.
    pub fn key(self, column: &str) -> Self {
        self.keys([column])
    }

    /// The columns that together are the key, as a cache key of two or three parts.
    pub fn keys<'a>(mut self, columns: impl IntoIterator<Item = &'a str>) -> Self {
        let columns = columns.into_iter().map(|name| Column { name: name.to_owned(), is_uuid: false });
        self.set_key(columns.collect());
        self
    }

    /// The column whose UUID is the key of the rule before it: for caches whose keys are `[u8; 16]`.
    pub fn key_uuid(mut self, column: &str) -> Self {
        self.set_key(vec![Column { name: column.to_owned(), is_uuid: true }]);
        self
    }

    fn set_key(&mut self, columns: Vec<Column>) {
        match self.rules.last_mut() {
            Some(rule) => rule.columns = columns,
            None => {
                let text = "a key comes after the cache or the function that it is for";
                self.wrong = Some(CdcError::Settings(text.to_owned()));
            }
        }
    }

    fn add(mut self, name: Arc<str>, effect: Effect) -> Self {
        if let Err(error) = check_name("rule", &name) {
            self.wrong = Some(error);
        }
        let (schema, table) = (self.schema.clone(), Arc::clone(&self.table));
        self.rules.push(Rule { name, schema, table, columns: Vec::new(), effect });
        self
    }

    /// An error if a rule has no key.
    pub(in crate::cdc) fn check(&self) -> Result<(), CdcError> {
        let refused = |text: String| CdcError::Settings(format!("table {:?}: {text}", self.table));
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        if self.rules.is_empty() || self.table.is_empty() {
            return Err(refused("it has no rule, or no name".to_owned()));
        }
        match self.rules.iter().find(|rule| rule.columns.is_empty()) {
            Some(rule) => Err(refused(format!("rule {:?} has no key: call key(column) after it", rule.name))),
            None => Ok(()),
        }
    }
}

/// Names are keys in SQL: 1 to 64 bytes, without a zero byte, which PostgreSQL does not store.
pub(in crate::cdc) fn check_name(what: &str, name: &str) -> Result<(), CdcError> {
    if name.is_empty() || name.len() > 64 || name.contains('\0') {
        let text =
            format!("the name of a {what} has 1 to 64 bytes and no zero byte; this one has {} bytes", name.len());
        return Err(CdcError::Settings(text));
    }
    Ok(())
}
