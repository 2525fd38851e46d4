//! What may happen next, drawn at random. Steps refer to earlier ones by number, so that any of them can be left out.

use evenkeel::Token;
use evenkeel_protocol::cache::steps::{Generation, Mode, Why};
use rand::Rng;
use rand::rngs::StdRng;

/// Keys that the steps are spread over.
pub(super) const KEYS: [&[u8]; 4] = [b"plain", b"br}ace", b"100%", b"\xff\x00 binary"];

/// All spans are whole minutes: keys expire in Redis's real time, which must not run out while the store's time is frozen.
pub(super) const MINUTE_MS: u64 = 60_000;

/// One thing that happens to one key.
#[derive(Clone, Debug)]
pub struct Step {
    /// Index into [`KEYS`].
    pub(super) key: usize,
    pub(super) act: Act,
}

/// A call, or an event that happens to both. `earlier` is the number of an earlier thing of its kind, counted back from the latest.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Lease {
        token: Token,
        generation: Generation,
        lease_ms: u64,
        life_ms: u64,
        why: Why,
        schema: u32,
        lag_ms_max: u64,
    },
    LeaseAgain {
        earlier: usize,
    },
    Fill {
        earlier: usize,
        value: Loaded,
    },
    FillAgain {
        earlier: usize,
    },
    Abandon {
        earlier: usize,
        retry_after_ms: u64,
    },
    Invalidate(Cut),
    InvalidateAgain {
        earlier: usize,
    },
    BeginWrite {
        writer: Token,
        cut: Cut,
        window_ms: u64,
        suspect_ms: u64,
        schema: u32,
    },
    BeginAgain {
        earlier: usize,
    },
    RenewWrite {
        writer: Token,
        window_ms: u64,
    },
    EndWrite {
        writer: Token,
        cut: Cut,
    },
    EndAgain {
        earlier: usize,
    },
    /// Time passes.
    Advance(u64),
    /// The clock is set back.
    SetBack(u64),
    /// The entry is evicted.
    Evict,
    /// Everything is flushed.
    Flush,
    /// A failover restores earlier bytes.
    RollBack {
        earlier: usize,
    },
    /// A foreign program or a newer one writes: the present bytes with one changed, or cut short.
    Spoil {
        at: usize,
        byte: u8,
        cut: bool,
    },
}

/// What a load found.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) version: Option<u64>,
    pub(super) absent: bool,
    pub(super) payload: Vec<u8>,
    pub(super) soft_ms: u64,
    pub(super) hard_ms: u64,
    pub(super) suspect_ms: u64,
    pub(super) spare_ms: u64,
    pub(super) replica_lag_ms: u64,
}

/// An invalidation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) generation: Generation,
    pub(super) floor: Option<u64>,
    pub(super) mode: Mode,
    pub(super) lag_ms_max: u64,
}

impl Step {
    /// Writers come in crowds: spread evenly they would rarely meet, and always keep readers from loading.
    pub(super) fn draw(random: &mut StdRng, is_crowded: &mut bool) -> Self {
        *is_crowded ^= random.random_bool(if *is_crowded { 0.02 } else { 0.002 });
        let act = if *is_crowded && random.random_bool(0.4) { begin_write(random) } else { act(random) };
        Self { key: random.random_range(0..KEYS.len()), act }
    }
}

fn act(random: &mut StdRng) -> Act {
    let earlier = earlier(random);
    match random.random_range(0..100) {
        0..=23 => Act::Lease {
            token: Token::from(random.random::<[u8; 16]>()),
            generation: generation(random),
            lease_ms: minutes(random, 6),
            life_ms: minutes(random, 20),
            why: why(random),
            schema: schema(random),
            lag_ms_max: sometimes(random, 5),
        },
        24..=26 => Act::LeaseAgain { earlier },
        27..=53 => Act::Fill { earlier, value: loaded(random) },
        54..=55 => Act::FillAgain { earlier },
        56..=60 => Act::Abandon { earlier, retry_after_ms: minutes(random, 6) },
        61..=66 => Act::Invalidate(cut(random)),
        67 => Act::InvalidateAgain { earlier },
        68..=69 => begin_write(random),
        70 => Act::BeginAgain { earlier },
        71..=74 => Act::RenewWrite { writer: writer(random), window_ms: minutes(random, 12) },
        75..=80 => Act::EndWrite { writer: writer(random), cut: cut(random) },
        81 => Act::EndAgain { earlier },
        82..=92 => Act::Advance(minutes(random, 2)),
        93 => Act::Advance(minutes(random, 40)),
        94 => Act::SetBack(minutes(random, 6)),
        95..=96 => Act::Evict,
        97 => Act::RollBack { earlier },
        98 => Act::Spoil { at: random.random_range(0..80), byte: random.random(), cut: random.random_bool(0.3) },
        _ => Act::Flush,
    }
}

fn begin_write(random: &mut StdRng) -> Act {
    Act::BeginWrite {
        writer: writer(random),
        cut: cut(random),
        window_ms: minutes(random, 12),
        suspect_ms: minutes(random, 12),
        schema: schema(random),
    }
}

/// Mostly the latest, sometimes one long ago.
fn earlier(random: &mut StdRng) -> usize {
    if random.random_bool(0.6) { 0 } else { random.random_range(0..8) }
}

fn minutes(random: &mut StdRng, most: u64) -> u64 {
    random.random_range(1..=most) * MINUTE_MS
}

fn sometimes(random: &mut StdRng, most: u64) -> u64 {
    if random.random_bool(0.3) { minutes(random, most) } else { 0 }
}

fn generation(random: &mut StdRng) -> Generation {
    // Few enough to meet again: a late duplicate uses an old one again.
    if random.random_bool(0.1) { Generation([random.random_range(0..3); 8]) } else { Generation(random.random()) }
}

/// One writer more than there are windows.
fn writer(random: &mut StdRng) -> Token {
    Token::from([random.random_range(1..=5); 16])
}

fn schema(random: &mut StdRng) -> u32 {
    if random.random_bool(0.95) { 0xFFFF_FFFE } else { 1 }
}

/// Close to each other, and where halves of 32 bits and doubles end.
fn version(random: &mut StdRng) -> u64 {
    let base = [0, 1 << 32, 1 << 53, u64::MAX - 8][random.random_range(0..4)];
    base + random.random_range(0..8)
}

fn why(random: &mut StdRng) -> Why {
    match random.random_range(0..10) {
        0..=3 => Why::Miss,
        4..=5 => Why::Stale,
        6..=7 => Why::Refresh,
        8 => Why::Older(minutes(random, 20)),
        _ => Why::Below(version(random)),
    }
}

fn loaded(random: &mut StdRng) -> Loaded {
    let absent = random.random_bool(0.1);
    let length = if absent { 0 } else { random.random_range(0..40) };
    Loaded {
        version: random.random_bool(0.4).then(|| version(random)),
        absent,
        payload: (0..length).map(|_| random.random()).collect(),
        soft_ms: minutes(random, 20),
        hard_ms: minutes(random, 40),
        suspect_ms: minutes(random, 3),
        spare_ms: if random.random_bool(0.5) { 0 } else { minutes(random, 60) },
        replica_lag_ms: sometimes(random, 5),
    }
}

fn cut(random: &mut StdRng) -> Cut {
    let retain_ms = if random.random_bool(0.1) { 0 } else { minutes(random, 6) };
    Cut {
        generation: generation(random),
        floor: random.random_bool(0.2).then(|| version(random)),
        mode: if random.random_bool(0.3) { Mode::Purge } else { Mode::Expire { retain_ms } },
        lag_ms_max: sometimes(random, 5),
    }
}
