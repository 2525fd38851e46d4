//! The SQL side: the unit of work, its outbox, the relay, the inbox.
