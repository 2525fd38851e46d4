//! Assigns keys to connections. A key always has the same one, so commands on one key stay in order.

/// The part of a key that selects the connection: the first non-empty `{...}`, as on Redis Cluster, or else the whole key.
/// All keys of one script therefore share a connection.
pub(crate) fn hash_tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else { return key };
    let rest = &key[open + 1..];
    match rest.iter().position(|byte| *byte == b'}') {
        Some(close) if close > 0 => &rest[..close],
        _ => key,
    }
}

/// An index below `count`. It is used within this process only, so any hash is suitable; FNV-1a is fast on short keys.
pub(crate) fn index(key: &[u8], count: usize) -> usize {
    if count == 1 {
        return 0;
    }
    let hash = hash_tag(key)
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    // Both halves, because FNV-1a hardly changes the upper bits for short keys.
    usize::try_from((hash ^ (hash >> 32)) % count as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{hash_tag, index};

    #[test]
    fn keys_with_one_hash_tag_share_a_connection() {
        assert_eq!(hash_tag(b"ns:c:user:{42}:x"), b"42");
        assert_eq!(hash_tag(b"ns:{}:{42}"), b"ns:{}:{42}");
        assert_eq!(hash_tag(b"plain{"), b"plain{");
        assert_eq!(index(b"a:{42}", 4), index(b"b:{42}:c", 4));
    }

    #[test]
    fn keys_spread_over_all_connections() {
        let mut counts = [0_u32; 4];
        for number in 0..1000 {
            counts[index(format!("ns:c:user:{{{number}}}").as_bytes(), 4)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 150), "{counts:?}");
    }
}
