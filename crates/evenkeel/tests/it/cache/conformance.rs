//! The conformance suite of the cache's steps, on the model and on Redis.

/// One test per story and backend. (The stories are told in the test kit.)
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

        /// A story that no backend plays shows nothing.
        #[test]
        fn every_story_is_played() {
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
        a_load_that_began_before_an_invalidation_is_not_stored
        a_load_is_not_stored_in_an_entry_created_after_it
        a_fill_finds_no_permission_where_the_entry_is_gone
        a_slow_loader_does_not_overwrite_a_newer_value
        a_repeated_fill_is_stored
        a_grant_that_a_failover_took_back_is_refused
        a_late_duplicate_of_an_invalidation_brings_no_permission_back
        a_late_duplicate_of_a_lease_brings_no_permission_back
        an_invalidation_driven_again_after_a_failover_ends_the_load_it_had_ended
        an_insert_ends_the_absence_of_its_row
        an_invalidation_creates_no_entry
        a_refresh_that_began_before_an_invalidation_is_not_stored;
    leases:
        while_one_loads_others_wait
        a_repeated_lease_gets_the_same_grant
        a_lease_for_what_has_landed_gets_the_value
        a_refresh_is_granted_when_it_is_due
        a_load_longer_than_its_lease_is_stored
        the_entry_lives_as_long_as_the_load_may_take
        a_lease_never_shortens_the_life_of_the_entry
        the_entry_of_a_dead_loader_ends
        after_a_failed_load_the_next_one_has_patience
        nobody_abandons_the_lease_of_another
        a_lease_from_the_future_holds_nobody_off
        a_lease_below_a_version_is_granted_until_it_is_there
        a_lease_for_a_younger_value_is_granted_until_it_is_there;
    lives:
        a_value_is_served_until_its_hard_expiry
        the_life_of_a_value_counts_from_its_lease
        a_value_whose_life_is_over_is_not_stored
        a_stale_value_is_never_renewed
        an_invalidation_does_not_prolong_a_value
        an_invalidated_value_is_stale
        a_purged_value_is_gone
        a_value_kept_for_no_time_is_spent_at_once
        a_spent_value_is_kept_for_those_whose_load_fails
        a_spent_value_is_loaded_again
        an_absent_row_is_kept_as_such
        lives_are_exact_to_the_millisecond;
    versions:
        a_value_below_the_floor_is_refused
        the_floor_only_rises
        a_stored_version_raises_the_floor
        versions_are_compared_exactly
        a_created_entry_wants_the_primary
        after_an_invalidation_the_primary_is_wanted_until_replicas_have_followed
        the_entry_lives_until_replicas_have_followed;
    schemas:
        programs_of_two_schemas_do_not_fight
        a_load_is_not_stored_under_another_schema
        an_entry_of_a_newer_format_is_left_alone_but_not_by_an_invalidation
        bytes_that_are_no_entry_are_overwritten;
    windows:
        nobody_loads_in_an_open_window
        a_window_ends_the_loads_before_it
        a_window_creates_its_entry
        a_repeated_begin_opens_no_second_window
        a_writer_ends_its_own_window_only
        a_fifth_writer_is_turned_away
        a_renewed_window_stays_open
        a_lapsed_window_is_lost
        after_a_lapse_values_live_short
        a_late_writer_invalidates_what_was_stored_meanwhile
        a_repeated_end_never_says_that_the_window_was_open
        a_window_whose_entry_is_gone_had_lapsed
        in_a_window_the_old_value_is_kept_no_longer;
}
