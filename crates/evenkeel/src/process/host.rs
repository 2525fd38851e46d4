//! What a process knows about itself.

use evenkeel_protocol::process::steps::ID_BYTES_MAX;

/// The part of an id that is not the name of the host: dots, process id, random number.
const REST_MAX: usize = 32;

/// The name of this host.
pub(super) fn name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// The id of a process on this host: other processes cannot have it, and a key can contain it.
pub(super) fn new_id(host: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let host = host.chars().map(|letter| if is_plain(letter) { letter } else { '_' });
    let host: String = host.take(ID_BYTES_MAX - REST_MAX).collect();
    format!("{host}.{}.{:08x}", std::process::id(), rand::random::<u32>())
}

#[cfg(test)]
mod tests {
    use super::{ID_BYTES_MAX, name, new_id};

    #[test]
    fn id_of_any_host_is_plain_and_short() {
        for host in [name().as_str(), "", "a}b{c\u{202e}d e", &"é".repeat(500)] {
            let id = new_id(host);
            assert!(
                id.len() <= ID_BYTES_MAX
                    && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)),
                "{id}"
            );
            assert_ne!(id, new_id(host));
        }
    }
}
