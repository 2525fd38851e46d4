//! [`Effects`]: the effects that a unit of work records for after its commit.

use super::windows::RequestedWindow;
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

/// The maximum length of the name of a topic or key in bytes: the size of its column.
const NAME_BYTES_MAX: usize = 255;

/// The effects of one unit of work, until it commits. [`Work`](super::Work) and [`Joined`](super::Joined) dereference to this type.
///
/// **Guarantee (U1).** Effects recorded here happen if the transaction commits, at least once, and repetitions are harmless; they
/// never happen if it does not commit.
/// **Not guaranteed.** That they have happened when the commit returns: usually they have; after a crash, or while Redis is
/// unavailable, a relay carries them out later.
pub struct Effects {
    pub(super) keel: Keel,
    pub(super) work: WorkId,
    invalidations: Vec<Invalidate>,
    pub(super) windows: Vec<RequestedWindow>,
    pub(super) puts: Vec<JobPut>,
    /// Ordered messages, which have rows of their own.
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

    /// The id of the unit of work, which names its row in `evenkeel_outbox` and correlates its effects.
    #[must_use]
    pub fn id(&self) -> WorkId {
        self.work
    }

    /// Invalidates the row under `key` after the commit, as [`Cache::invalidate`] does.
    ///
    /// If the cache's reads are [`Fresh`](crate::cache::Freshness::Fresh), its update window is opened before the commit and closed
    /// after it (U6): after the commit no such read returns the older value, also if this process dies in between.
    ///
    /// # Errors
    /// [`SqlError::Effect`] for a cache with a published protocol, or of a keel over another Redis; the effect was not recorded.
    pub fn invalidate<K, V, Q>(&mut self, cache: &Cache<K, V>, key: &Q) -> Result<(), SqlError>
    where
        K: Borrow<Q> + ?Sized,
        Q: CacheKey + ?Sized,
        V: Send + Sync + 'static,
    {
        self.end(cache, key, false, None)
    }

    /// Like [`invalidate`](Self::invalidate), with the row's new version: as [`Cache::invalidate_at`].
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

    /// Like [`invalidate`](Self::invalidate), and the old value is never served again, not even as a stale one: as [`Cache::purge`].
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

    /// Enqueues a job after the commit. `queue.job(..)` creates the order; its body is encoded at once. A delay counts from this
    /// call.
    ///
    /// A job with an id ([`Order::id`]) is an upsert: of several units of work that enqueue a job with that id, the last to commit
    /// wins, whatever the state of the job is then. It does not count against the queue's limits, because the committed effect must
    /// be carried out.
    ///
    /// # Errors
    /// [`SqlError::Queue`]: the job cannot be encoded, is too large, or has a unique key, which an upsert does not support.
    /// [`SqlError::Effect`]: the queue is of a keel over another Redis. The effect was not recorded.
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

    /// Changes the due time or the body of a job that an earlier unit of work enqueued: the order names it ([`Order::id`] or
    /// [`Order::raw_id`]) and replaces it as a whole. It is the same effect as [`enqueue`](Self::enqueue), and runs the job even if
    /// it has run before.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue); [`SqlError::Effect`] if the order has no id.
    pub fn reschedule<T: Send + Sync + 'static>(&mut self, order: Order<'_, T>) -> Result<JobId, SqlError> {
        self.check_queue(order.stranger_to(&self.keel.queue_store()))?;
        let put = order.into_put()?;
        if put.version != 0 {
            let sentence = "a job is rescheduled by its id: set the id it was enqueued with (id or raw_id)";
            return Err(SqlError::Effect(sentence.to_owned()));
        }
        Ok(self.put(put))
    }

    /// Withdraws a job after the commit, in any state: waiting, running (its acknowledgement is then rejected) or dead.
    ///
    /// # Errors
    /// [`SqlError::Effect`] for a queue of another keel. The effect was not recorded.
    pub fn revoke<T: Send + Sync + 'static>(&mut self, queue: &Queue<T>, id: JobId) -> Result<(), SqlError> {
        self.check_queue(queue.stranger_to(&self.keel.queue_store()))?;
        self.put(queue.withdrawal(id));
        Ok(())
    }

    /// Publishes a message after the commit.
    ///
    /// # Errors
    /// [`SqlError::Effect`] for a topic or key that is empty, longer than 255 bytes, or contains a zero byte. The effect was not
    /// recorded.
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

    /// Sets the trace context (a W3C `traceparent`) of all effects recorded from now on. Jobs pass it to their handlers, messages
    /// carry it in the header `traceparent`, and the outbox row stores it.
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
                "cache `{}` uses a published protocol, whose invalidations cannot be repeated safely; open it with \
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
            RequestedWindow::add(&mut self.windows, cache_of_work, &effect);
        }
        self.invalidations.push(effect);
        Ok(())
    }

    /// The effects are carried out by this keel and by relays over its Redis: a job of a queue on another Redis would never run.
    fn check_queue(&self, foreign: Option<&str>) -> Result<(), SqlError> {
        match foreign {
            Some(queue) if guard("effects_of_one_keel") => Err(of_another_keel("queue", queue)),
            _ => Ok(()),
        }
    }

    /// Replaces an earlier effect on the same job.
    fn put(&mut self, put: JobPut) -> JobId {
        let id = put.id;
        self.puts.retain(|earlier| earlier.id != id || earlier.topic != put.topic);
        self.puts.push(put);
        id
    }

    /// Whether the outbox row of the unit of work has no effects.
    pub(super) fn is_row_empty(&self) -> bool {
        self.invalidations.is_empty() && self.puts.is_empty() && self.unordered.is_empty()
    }

    /// The effects of the outbox row.
    pub(super) fn in_row(&self) -> Vec<Effect> {
        let invalidations = self.invalidations.iter().cloned().map(Effect::Invalidate);
        let puts = self.puts.iter().cloned().map(Effect::Put);
        let messages = self.unordered.iter().cloned().map(Effect::Publish);
        invalidations.chain(puts).chain(messages).collect()
    }

    /// The encoded effects of the outbox row.
    pub(super) fn encoded(&self) -> Vec<u8> {
        format::encode(&self.in_row())
    }
}

fn of_another_keel(what: &str, name: &str) -> SqlError {
    SqlError::Effect(format!(
        "{what} `{name}` belongs to a Keel over another Redis (or prefix) than the one that began this unit of work, so its effect \
         would go to the wrong server; begin the unit of work with the Keel that opened the {what}"
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
