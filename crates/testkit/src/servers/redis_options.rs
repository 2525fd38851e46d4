//! How a [`Redis`](super::Redis) is configured.

/// What differs from an empty, unprotected, memory-only Redis.
///
/// Names, passwords and rules go into URLs and configuration as they are: use letters, digits and `~*@+-&`.
#[derive(Clone, Debug, Default)]
pub struct RedisOptions {
    pub(super) password: Option<String>,
    pub(super) user: Option<(String, String)>,
    pub(super) tls: bool,
    pub(super) tls_clients: bool,
    pub(super) arguments: Vec<String>,
}

impl RedisOptions {
    /// An empty, unprotected, memory-only Redis.
    #[must_use]
    pub fn new() -> RedisOptions {
        RedisOptions::default()
    }

    /// Password of the default user.
    #[must_use]
    pub fn password(mut self, password: &str) -> RedisOptions {
        self.password = Some(password.to_owned());
        self.arguments(["--requirepass", password])
    }

    /// One more ACL user; [`Redis::url`](super::Redis::url) then names it. `rules` are Redis's words, such as `~* &* +@all`.
    #[must_use]
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> RedisOptions {
        self.user = Some((name.to_owned(), password.to_owned()));
        let password = format!(">{password}");
        self.arguments(["--user", name, "on", &password]).arguments(rules.split_whitespace())
    }

    /// Keeps an append-only file (without fsync), so that a restart finds the data again.
    #[must_use]
    pub fn append_only(self) -> RedisOptions {
        self.arguments(["--appendonly", "yes", "--appendfsync", "no"])
    }

    /// Limits memory (`64mb`) and says what then happens (`noeviction`, `allkeys-lru`, ...).
    #[must_use]
    pub fn memory(self, bytes: &str, policy: &str) -> RedisOptions {
        self.arguments(["--maxmemory", bytes, "--maxmemory-policy", policy])
    }

    /// Speaks TLS only, with a certificate for `localhost` and `127.0.0.1` of an authority made for this server.
    #[must_use]
    pub fn tls(mut self) -> RedisOptions {
        self.tls = true;
        self
    }

    /// As [`tls`](RedisOptions::tls), and lets in only clients with a certificate of that authority.
    #[must_use]
    pub fn tls_clients(mut self) -> RedisOptions {
        self.tls_clients = true;
        self.tls()
    }

    /// Follows the Redis on this loopback port.
    #[must_use]
    pub fn replica_of(self, port: u16) -> RedisOptions {
        self.arguments(["--replicaof", "127.0.0.1", &port.to_string()])
    }

    /// Any other arguments of `redis-server`.
    #[must_use]
    pub fn arguments<I: IntoIterator<Item: Into<String>>>(mut self, arguments: I) -> RedisOptions {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }
}
