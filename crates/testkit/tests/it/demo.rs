//! The demonstrations show what they are there to show.

use testkit::demo::stale::{Row, render, run, run_some};

fn row<'a>(rows: &'a [Row], name: &str) -> &'a Row {
    rows.iter().find(|row| row.name.contains(name)).unwrap()
}

#[test]
fn stale_reads_survive_everywhere_but_under_the_fenced_protocol() {
    let rows = run(1).unwrap();
    let fenced = row(&rows, "Fenced");
    for score in [&fenced.adversarial, &fenced.storm] {
        assert_eq!((score.stale_reads, score.phantom_reads, score.failed_reads), (0, 0, 0));
        assert!(score.reads >= 600);
    }
    assert!(fenced.storm.loads < fenced.storm.reads / 4, "it caches");
    for name in ["commit, then delete", "delete, then commit", "from a replica", "some deletes time out", "500 ms, ttl"]
    {
        let Row { name, adversarial, storm } = row(&rows, name);
        assert!(adversarial.stale_reads > 0 && storm.stale_reads > 0, "{name}");
    }
    assert!(row(&rows, "roll back").storm.phantom_reads > 0);
    assert!(row(&rows, "but writes delete").storm.stale_reads > 0);
    // The longer delay closes the gap of a load of 1.5 s, after it was open for so long.
    let closed = row(&rows, "2000 ms, no ttl").adversarial.staleness_ms_max;
    let open = row(&rows, "1000 ms, no ttl").adversarial.staleness_ms_max;
    assert!(closed < 2_000 && open > 50_000, "{closed} {open}");
}

#[test]
fn seed_repeats_its_storm() {
    let play = || run_some(7, |name| name.starts_with("cache-aside: commit")).unwrap();
    let (one, other) = (play(), play());
    assert_eq!(one[0].storm.stale_reads, other[0].storm.stale_reads);
    assert!(render(&one, 7).contains("seed 7"));
}
