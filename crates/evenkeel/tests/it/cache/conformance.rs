//! The conformance suite of the cache's steps, on the model and on Redis.

/// One test per story and backend. (The stories are in the test kit.)
macro_rules! stories {
    ($($suite:ident: $($story:ident)+;)+) => {
        mod memory {
            $(mod $suite {
                use testkit::conformance::cache::{InMemory, $suite};

                $(#[tokio::test]
                async fn $story() {
                    $suite::$story(&InMemory::default()).await;
                })+
            })+
        }

        mod redis {
            $(mod $suite {
                use testkit::conformance::cache::{OnRedis, $suite};

                $(#[tokio::test]
                async fn $story() {
                    $suite::$story(&OnRedis::start().await.unwrap()).await;
                })+
            })+
        }

        /// A story that runs on no backend tests nothing.
        // shows: spec/cache.md
        #[test]
        fn every_suite_function_has_a_test() {
            let played = [$($(concat!(stringify!($suite), "::", stringify!($story))),+),+];
            for suite in [$(stringify!($suite)),+] {
                let path = format!("{}/../testkit/src/conformance/cache/{suite}.rs", env!("CARGO_MANIFEST_DIR"));
                let text = std::fs::read_to_string(&path).unwrap();
                for line in text.lines().filter_map(|line| line.strip_prefix("pub async fn ")) {
                    let story = format!("{suite}::{}", line.split('<').next().unwrap());
                    assert!(played.contains(&story.as_str()), "{story} is not played");
                }
            }
        }
    };
}

stories! {
    fences:
        invalidation_rejects_fill_from_earlier_load
        recreated_entry_rejects_fill_from_earlier_load
        fill_is_rejected_after_entry_was_evicted
        slow_fill_does_not_overwrite_newer_value
        repeated_fill_is_accepted
        fill_with_grant_lost_in_failover_is_rejected
        duplicate_invalidation_does_not_revive_a_rejected_fill
        duplicate_lease_does_not_revive_a_rejected_fill
        replayed_invalidation_rejects_fill_after_failover
        invalidation_after_insert_ends_cached_absence
        invalidation_of_a_missing_key_creates_no_entry
        invalidation_rejects_fill_from_earlier_refresh;
    leases:
        lease_is_granted_to_one_loader_at_a_time
        repeated_lease_returns_the_same_grant
        lease_after_fill_returns_the_value
        refresh_is_granted_only_when_due
        load_longer_than_its_lease_is_stored
        lease_extends_entry_ttl_to_the_load_budget
        lease_never_shortens_the_entry_ttl
        entry_of_a_dead_loader_expires
        lease_after_failed_load_is_delayed
        abandon_leaves_lease_of_another_owner
        lease_from_the_future_does_not_block_loads
        lease_with_minimum_version_is_granted_until_stored
        lease_with_maximum_age_is_granted_until_stored;
    lives:
        value_is_served_until_its_hard_expiry
        value_ttl_counts_from_its_lease
        fill_after_the_value_ttl_is_rejected
        failed_load_does_not_extend_a_stale_value
        invalidation_does_not_extend_the_value_ttl
        invalidated_value_is_stale
        purged_value_is_never_served
        value_with_zero_retention_expires_at_once
        expired_value_is_retained_for_stale_reads
        expired_value_grants_a_new_lease
        absent_row_is_stored_as_absence
        ttl_is_exact_to_the_millisecond;
    versions:
        fill_below_the_version_floor_is_rejected
        version_floor_only_rises
        stored_version_raises_the_floor
        versions_above_2_53_are_compared_exactly
        created_entry_requires_a_primary_read
        invalidation_requires_primary_read_for_replica_lag
        entry_of_primary_readers_requires_a_primary_read
        each_lag_counts_from_the_invalidation;
    schemas:
        programs_with_two_schemas_keep_each_others_entries
        fill_under_another_schema_is_rejected
        entry_of_a_newer_format_is_only_invalidated
        malformed_entry_is_overwritten;
    windows:
        open_window_grants_no_lease
        window_rejects_fill_from_earlier_load
        window_creates_a_missing_entry
        repeated_begin_opens_one_window
        end_closes_only_its_own_window
        fifth_concurrent_window_is_rejected
        renewed_window_stays_open
        expired_window_cannot_be_renewed
        value_after_expired_window_gets_short_ttl
        end_of_expired_window_invalidates_later_value
        repeated_end_never_reports_an_open_window
        end_of_evicted_window_reports_expiry
        window_does_not_extend_stale_retention
        expired_window_requires_primary_read_for_replica_lag;
}
