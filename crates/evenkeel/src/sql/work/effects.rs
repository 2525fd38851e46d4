//! [`Effects`]: what a work wants to happen after its commit.

use super::windows::Wanted;
use crate::cache::{Cache, CacheKey};
use crate::keel::Keel;
use crate::queue::{JobPut, JobWish, Order, Queue};
use crate::sql::error::SqlError;
use crate::sql::outbox::effect::{Effect, Invalidate, Message};
use crate::sql::outbox::{WorkId, format};
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::job::{JobId, Note};
use std::borrow::Borrow;

/// The longest name of a topic or key, in bytes: as long as the column it is kept in.
const NAME_BYTES_MAX: usize = 255;

/// The effects of one work, until it commits. [`Work`](super::Work) and [`Joined`](super::Joined) are used as this.
///
/// **Guarantee (U1).** What is noted here happens, at least once and safely, if the transaction commits; and never if it does not.
/// **Not guaranteed.** That it has happened when the commit has answered: it usually has; after a crash or while Redis is away,
/// a relay does it later.
pub struct Effects {
    pub(super) keel: Keel,
    pub(super) work: WorkId,
    invalidations: Vec<Invalidate>,
    pub(super) windows: Vec<Wanted>,
    pub(super) puts: Vec<JobPut>,
    /// Those with a place in an order are rows of their own.
    pub(super) ordered: Vec<Message>,
    unordered: Vec<Message>,
    pub(super) trace: Option<String>,
}

impl Effects {
    pub(super) fn new(keel: Keel, work: WorkId) -> Self {
        Self {
            keel,
            work,
            invalidations: Vec::new(),
            windows: Vec::new(),
            puts: Vec::new(),
            ordered: Vec::new(),
            unordered: Vec::new(),
            trace: None,
        }
    }

    /// The work's name: its row in `evenkeel_outbox`, and what its effects are traced by.
    #[must_use]
    pub fn id(&self) -> WorkId {
        self.work
    }

    /// Invalidates the row under `key` after the commit, as [`Cache::invalidate`] does.
    ///
    /// If the cache's reads are [`Fresh`](crate::cache::Freshness::Fresh), its update window is opened before the commit and closed
    /// after it (U6): no such read is given the older value once the commit has happened, whoever dies in between.
    ///
    /// # Errors
    /// [`SqlError::Effect`] for a cache under a published protocol, or of a keel over another Redis; nothing was noted.
    pub fn invalidate<K, V, Q>(&mut self, cache: &Cache<K, V>, key: &Q) -> Result<(), SqlError>
    where
        K: Borrow<Q> + ?Sized,
        Q: CacheKey + ?Sized,
        V: Send + Sync + 'static,
    {
        self.end(cache, key, false, None)
    }

    /// Like [`invalidate`](Self::invalidate), by a work that knows the row's new version: as [`Cache::invalidate_at`].
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate).
    pub fn invalidate_at<K, V, Q>(&mut self, cache: &Cache<K, V>, key: &Q, version: u64) -> Result<(), SqlError>
    where
        K: Borrow<Q> + ?Sized,
        Q: CacheKey + ?Sized,
        V: Send + Sync + 'static,
    {
        self.end(cache, key, false, Some(version))
    }

    /// Like [`invalidate`](Self::invalidate), and the old value is never served again: as [`Cache::purge`].
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate).
    pub fn purge<K, V, Q>(&mut self, cache: &Cache<K, V>, key: &Q) -> Result<(), SqlError>
    where
        K: Borrow<Q> + ?Sized,
        Q: CacheKey + ?Sized,
        V: Send + Sync + 'static,
    {
        self.end(cache, key, true, None)
    }

    /// Sends a job after the commit. `queue.job(..)` begins one; the body is encoded at once. A delay counts from here.
    ///
    /// A job that is given an id ([`Order::id`]) is an upsert: of several works that send a job of that id, the one that commits
    /// last wins, whatever state the job is in then. It does not count against the queue's limits, for it is an obligation.
    ///
    /// # Errors
    /// [`SqlError::Queue`]: it cannot be encoded, is too large, or has a unique key, which an upsert cannot keep.
    /// [`SqlError::Effect`]: the queue is of a keel over another Redis. Nothing was noted.
    pub fn enqueue<T: Send + Sync + 'static>(&mut self, order: Order<'_, T>) -> Result<JobId, SqlError> {
        self.check_queue(order.stranger_to(&self.keel.queue_store()))?;
        let mut put = order.into_put()?;
        if let (Some(trace), JobWish::Run { spec, .. }) = (&self.trace, &mut put.wish)
            && !spec.notes.iter().any(|note| matches!(note, Note::Trace(_)))
        {
            spec.notes.push(Note::Trace(Bytes::copy_from_slice(trace.as_bytes())));
        }
        Ok(self.put(put))
    }

    /// Gives a job that an earlier work has sent another due time, or another body: the order names it
    /// ([`Order::id`] or [`Order::raw_id`]) and says all of it anew. It is the same effect as [`enqueue`](Self::enqueue), and
    /// runs the job even if it has run before.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue); [`SqlError::Effect`] if the order has no id.
    pub fn reschedule<T: Send + Sync + 'static>(&mut self, order: Order<'_, T>) -> Result<JobId, SqlError> {
        self.check_queue(order.stranger_to(&self.keel.queue_store()))?;
        let put = order.into_put()?;
        if put.version != 0 {
            let sentence = "a job is rescheduled by its id: give the order the id it was sent with (id or raw_id)";
            return Err(SqlError::Effect(sentence.to_owned()));
        }
        Ok(self.put(put))
    }

    /// Takes a job back after the commit, wherever it is: waiting, running (its acknowledgement is refused then) or dead.
    ///
    /// # Errors
    /// [`SqlError::Effect`] for a queue of another keel. Nothing was noted.
    pub fn revoke<T: Send + Sync + 'static>(&mut self, queue: &Queue<T>, id: JobId) -> Result<(), SqlError> {
        self.check_queue(queue.stranger_to(&self.keel.queue_store()))?;
        self.put(queue.withdrawal(id));
        Ok(())
    }

    /// Publishes a message after the commit.
    ///
    /// # Errors
    /// [`SqlError::Effect`] for a topic or key that is empty, longer than 255 bytes, or has a zero byte. Nothing was noted.
    pub fn publish(&mut self, mut message: Message) -> Result<(), SqlError> {
        check_name("topic", &message.topic)?;
        if let Some(trace) = &self.trace {
            message.headers.entry("traceparent".to_owned()).or_insert_with(|| trace.clone());
        }
        match &message.key {
            Some(key) => {
                check_name("key", key)?;
                self.ordered.push(message);
            }
            None => self.unordered.push(message),
        }
        Ok(())
    }

    /// Lets the trace of the caller go on in every effect that is noted from now on: a W3C `traceparent`. Jobs carry it to their
    /// handlers, messages as the header `traceparent`, and the work's row keeps it.
    pub fn trace(&mut self, traceparent: &str) {
        self.trace = Some(traceparent.chars().filter(char::is_ascii_graphic).take(NAME_BYTES_MAX).collect());
    }

    fn end<K, V, Q>(&mut self, cache: &Cache<K, V>, key: &Q, is_purge: bool, floor: Option<u64>) -> Result<(), SqlError>
    where
        K: Borrow<Q> + ?Sized,
        Q: CacheKey + ?Sized,
        V: Send + Sync + 'static,
    {
        let cache_of_work = cache.of_work();
        if !cache.is_of(&self.keel) && guard("effects_of_one_keel") {
            return Err(of_another_keel("cache", &cache_of_work.name));
        }
        if !cache_of_work.is_fenced {
            return Err(SqlError::Effect(format!(
                "cache `{}` keeps a published protocol, whose invalidations cannot be repeated safely; open it with \
                 Protocol::Fenced to use it in a unit of work",
                cache_of_work.name
            )));
        }
        let effect = Invalidate {
            cache: cache_of_work.name.to_string(),
            key: Cache::<K, V>::key_of_work(key),
            demand: cache_of_work.demand(is_purge, floor),
            window: cache_of_work.is_strong,
        };
        if cache_of_work.is_strong {
            Wanted::add(&mut self.windows, cache_of_work, &effect);
        }
        self.invalidations.push(effect);
        Ok(())
    }

    /// The effects are carried out by this keel, and by relays over its Redis: a job of a queue elsewhere would never run.
    fn check_queue(&self, stranger: Option<&str>) -> Result<(), SqlError> {
        match stranger {
            Some(queue) if guard("effects_of_one_keel") => Err(of_another_keel("queue", queue)),
            _ => Ok(()),
        }
    }

    /// What was wanted of the same job before does not count any more.
    fn put(&mut self, put: JobPut) -> JobId {
        let id = put.id;
        self.puts.retain(|earlier| earlier.id != id || earlier.topic != put.topic);
        self.puts.push(put);
        id
    }

    /// Whether nothing is to be written into the work's own row.
    pub(super) fn is_row_empty(&self) -> bool {
        self.invalidations.is_empty() && self.puts.is_empty() && self.unordered.is_empty()
    }

    /// What goes into the row of the work.
    pub(super) fn in_row(&self) -> Vec<Effect> {
        let invalidations = self.invalidations.iter().cloned().map(Effect::Invalidate);
        let puts = self.puts.iter().cloned().map(Effect::Put);
        let messages = self.unordered.iter().cloned().map(Effect::Publish);
        invalidations.chain(puts).chain(messages).collect()
    }

    /// The same as bytes.
    pub(super) fn encoded(&self) -> Vec<u8> {
        format::encode(&self.in_row())
    }
}

fn of_another_keel(what: &str, name: &str) -> SqlError {
    SqlError::Effect(format!(
        "{what} `{name}` belongs to a Keel over another Redis (or prefix) than the one this work was begun with, so its effect would go \
         to the wrong place; begin the work with the Keel that opened the {what}"
    ))
}

fn check_name(what: &str, name: &str) -> Result<(), SqlError> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('\0') {
        let length = name.len();
        return Err(SqlError::Effect(format!(
            "the {what} of a message has 1 to {NAME_BYTES_MAX} bytes and no zero byte; this one has {length} bytes"
        )));
    }
    Ok(())
}
