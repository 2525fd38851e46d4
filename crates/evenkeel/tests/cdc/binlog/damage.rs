//! Damaged events: an error with a position, or other changes, but never a panic.

use super::*;
use crate::rig::in_time;
use evenkeel::cdc::mysql::decode_file;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// The first file of a log with all kinds of events.
async fn recorded(arguments: &[&str]) -> Vec<u8> {
    let mut server = Server::with(arguments).await;
    let columns = "id BIGINT UNSIGNED PRIMARY KEY, a DECIMAL(20,5), b DATETIME(6), c TIME(3), d VARCHAR(300), e ENUM('x','y'), \
         f SET('p','q'), g BIT(12), h BINARY(8), i TEXT COMPRESSED, j FLOAT, k YEAR, l TIMESTAMP, m POINT, n DATE";
    let row = "1.5, '2026-11-28', '10:11:12.5', REPEAT('ab', 100), 'y', 'p,q', 7, 'bin', REPEAT('c', 200), 0.5, 2026, \
         '2026-11-28', PointFromText('POINT(1 2)'), '2026-11-28'";
    server.run(&[&format!("CREATE TABLE t ({columns})")]).await;
    for id in [1, u64::MAX] {
        server.run(&[&format!("INSERT INTO t VALUES ({id}, {row})")]).await;
    }
    server
        .run(&["UPDATE t SET b = NULL, a = -a", "DELETE FROM t WHERE id = 1", "ALTER TABLE t ADD COLUMN z INT"])
        .await;
    server.run(&["XA START 'one'", "DELETE FROM t", "XA END 'one'", "XA PREPARE 'one'", "XA COMMIT 'one'"]).await;
    server.run(&["FLUSH BINARY LOGS"]).await;
    let folder: String = sqlx::query_scalar("SELECT @@datadir").fetch_one(&mut server.conn).await.unwrap();
    std::fs::read(std::path::Path::new(&folder).join("bin.000001")).unwrap()
}

/// Damaged files of each kind.
const ROUNDS: u32 = 2_000;

// shows: hazard LB9, spec/cdc.md
#[tokio::test]
async fn damaged_events_stop_the_source_with_a_position() {
    in_time(async {
        for arguments in [&[][..], &["--log-bin-compress=ON", "--log-bin-compress-min-len=10"]] {
            let file = recorded(arguments).await;
            let tables = [table("t")];
            let whole = decode_file("bin.000001", &file, &tables).unwrap();
            assert_eq!(changes(&whole).len(), 9, "{:?}", lines(&changes(&whole)));
            let (mut errors, mut rng) = (0, StdRng::seed_from_u64(42));
            for _ in 0..ROUNDS {
                let mut damaged = file.clone();
                for _ in 0..rng.random_range(1..4) {
                    let place = rng.random_range(4..damaged.len());
                    damaged[place] =
                        if rng.random() { rng.random() } else { damaged[place] ^ 1 << rng.random_range(0..8) };
                }
                errors += u32::from(is_unreadable(&damaged, &tables));
            }
            assert!(errors > ROUNDS / 10, "{errors} of the damaged files were noticed");
            for length in (4..file.len()).step_by(7) {
                is_unreadable(&file[..length], &tables);
            }
        }
    })
    .await;
}

/// Whether decoding stops. It may only stop at a position.
fn is_unreadable(file: &[u8], tables: &[Table]) -> bool {
    match decode_file("bin.000001", file, tables) {
        Ok(_) => false,
        Err(SourceError::Unreadable { position, .. }) => {
            assert!(position.text.contains(':'), "{position}");
            true
        }
        Err(SourceError::Gap(_)) => true,
        Err(other) => panic!("{other:?}"),
    }
}

// shows: hazard LB9
#[tokio::test]
async fn truncated_event_inside_a_group_is_an_error() {
    in_time(async {
        let file = recorded(&[]).await;
        let tables = [table("t")];
        let cut = file.len() - 30;
        assert!(is_unreadable(&file[..cut], &tables));
    })
    .await;
}

/// What the reader does not know is not passed over, unless the server says that it may be.
// shows: D3, hazard LB2, spec/cdc.md
#[tokio::test]
async fn unknown_event_stops_unless_it_may_be_ignored() {
    in_time(async {
        let file = recorded(&[]).await;
        let tables = [table("t")];
        // Behind the format description.
        let first = usize::try_from(u32::from_le_bytes(file[17..21].try_into().unwrap())).unwrap();
        for (kind, flags, stops, text) in [
            (200, 0, true, "unknown type 200"),
            (200, 0x80, false, ""),
            (172, 0, true, "fragment"),
            (40, 0, true, "compressed transaction"),
            (26, 0, true, "incident"),
        ] {
            let mut event = vec![0, 0, 0, 0, kind, 1, 0, 0, 0, 23, 0, 0, 0, 0, 0, 0, 0, flags, 0, 0, 0, 0, 0];
            let mut with = file[..first].to_vec();
            with.append(&mut event);
            with.extend(&file[first..]);
            let result = decode_file("bin.000001", &with, &tables);
            let said = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
            assert_eq!((result.is_err(), said.contains(text)), (stops, true), "{kind}: {said}");
        }
    })
    .await;
}
