//! What a Redis executes, command by command: the proof that a hit costs one `GET`.

use crate::servers::Redis;
use anyhow::{Context, Result, bail, ensure};
use std::iter::Peekable;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;

/// A server that prints nothing for so long after it was asked to is not going to.
const DEADLINE: Duration = Duration::from_secs(60);

/// Reads `MONITOR` of a Redis that no other test uses.
///
/// What the kit itself asks over the Unix socket ([`Redis::command`]) is left out. Redis does not show `AUTH`, `HELLO` with a
/// password, and administrative commands such as `CONFIG`.
#[derive(Debug)]
pub struct CommandTrace {
    lines: Lines<BufReader<UnixStream>>,
}

/// One executed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedCommand {
    /// Upper case: `GET`.
    pub name: String,
    /// Its arguments; bytes that are no text are replaced.
    pub arguments: Vec<String>,
    /// Whether a script called it. Such a command costs no round trip.
    pub from_script: bool,
}

/// Executed commands in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace(pub Vec<TracedCommand>);

impl CommandTrace {
    /// Begins to watch: everything executed after this returns will be seen.
    pub async fn start(redis: &Redis) -> Result<CommandTrace> {
        let stream = UnixStream::connect(redis.socket()).await.context("could not reach the Redis to watch")?;
        let mut lines = BufReader::new(stream).lines();
        for command in redis.login().into_iter().chain(["MONITOR".to_owned()]) {
            lines.get_mut().write_all(format!("{command}\r\n").as_bytes()).await?;
            let answer = next(&mut lines).await?;
            ensure!(answer == "+OK", "Redis answered {answer} to {}", command.split(' ').next().unwrap_or_default());
        }
        Ok(CommandTrace { lines })
    }

    /// Everything executed since the start or the last call. Complete: a marker executed now is waited for.
    pub async fn take(&mut self, redis: &Redis) -> Result<Trace> {
        let marker = format!("trace-{:016x}", rand::random::<u64>());
        redis.command::<()>(&["ECHO", &marker]).await?;
        let mut trace = Trace::default();
        loop {
            let line = next(&mut self.lines).await?;
            let (from, command) =
                parse(&line).with_context(|| format!("could not read this line of MONITOR: {line}"))?;
            match from {
                From::Kit if command.arguments == [marker.as_str()] => return Ok(trace),
                From::Kit => {}
                From::Client | From::Script => trace.0.push(command),
            }
        }
    }
}

impl Trace {
    /// How many commands have this name.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|command| command.name.eq_ignore_ascii_case(name)).count()
    }

    /// The names in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|command| command.name.as_str()).collect()
    }

    /// Only the commands that clients sent; what scripts called is left out.
    #[must_use]
    pub fn from_clients(&self) -> Trace {
        self.only(|command| !command.from_script)
    }

    /// Only the commands with an argument that begins with `prefix`.
    #[must_use]
    pub fn on_prefix(&self, prefix: &str) -> Trace {
        self.only(|command| command.arguments.iter().any(|argument| argument.starts_with(prefix)))
    }

    fn only(&self, wanted: impl Fn(&TracedCommand) -> bool) -> Trace {
        Trace(self.0.iter().filter(|command| wanted(command)).cloned().collect())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Client,
    Script,
    Kit,
}

async fn next(lines: &mut Lines<BufReader<UnixStream>>) -> Result<String> {
    match tokio::time::timeout(DEADLINE, lines.next_line()).await {
        Ok(Ok(Some(line))) => Ok(line),
        Ok(Ok(None)) => bail!("Redis closed the connection that watches it"),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => bail!("Redis shows nothing for {DEADLINE:?}"),
    }
}

/// `+1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`; instead of the address it may say `lua` or `unix:PATH`.
fn parse(line: &str) -> Option<(From, TracedCommand)> {
    let (_, rest) = line.split_once(" [")?;
    let (origin, words) = rest.split_once("] ")?;
    let from = match origin.split_once(' ')?.1 {
        "lua" => From::Script,
        address if address.starts_with("unix:") => From::Kit,
        _ => From::Client,
    };
    let mut words = unquote(words)?.into_iter();
    let name = words.next()?.to_uppercase();
    Some((from, TracedCommand { name, arguments: words.collect(), from_script: from == From::Script }))
}

/// Words in double quotes with the escapes of `MONITOR`.
fn unquote(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => words.push(word(&mut bytes)?),
            b' ' => {}
            _ => return None,
        }
    }
    Some(words)
}

/// Up to the quote that ends it. Valkey 8.1 writes a quote inside a word as it is, so one that goes on is no end.
fn word(bytes: &mut Peekable<impl Iterator<Item = u8>>) -> Option<String> {
    let mut word = Vec::new();
    loop {
        match bytes.next()? {
            b'"' if bytes.peek().is_none_or(|next| *next == b' ') => {
                return Some(String::from_utf8_lossy(&word).into_owned());
            }
            b'\\' => word.push(match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'a' => 7,
                b'b' => 8,
                b'x' => hex(bytes.next()?)? * 16 + hex(bytes.next()?)?,
                other => other,
            }),
            byte => word.push(byte),
        }
    }
}

fn hex(digit: u8) -> Option<u8> {
    u8::try_from(char::from(digit).to_digit(16)?).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]
mod tests {
    use super::*;

    #[test]
    fn lines_of_clients_scripts_and_the_kit_are_told_apart() {
        let (from, command) = parse(r#"+1.2 [0 127.0.0.1:60866] "set" "a b]" "\x00\"\\\r\n\xc5\xbe""#).unwrap();
        assert_eq!(from, From::Client);
        assert_eq!(
            (command.name.as_str(), &command.arguments[..]),
            ("SET", &["a b]".into(), "\0\"\\\r\nž".into()][..])
        );
        assert_eq!(parse(r#"+1.2 [0 lua] "set" ""a"" """#).unwrap().1.arguments, ["\"a\"", ""]);
        assert_eq!(parse(r#"+1.2 [3 lua] "get" "k""#).unwrap().0, From::Script);
        assert_eq!(parse(r#"+1.2 [0 unix:/tmp/socket] "echo" "k""#).unwrap().0, From::Kit);
    }

    #[test]
    fn a_broken_line_is_none() {
        for line in ["+OK", r#"+1.2 [0 lua] "get" "k"#, r#"+1.2 [0 lua] get"#, r#"+1.2 [0 lua] "\x0"#] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
