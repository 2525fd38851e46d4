//! The conformance suite of the store, which every database passes.

mod after;
mod at_once;
mod clicks;
mod imports;
mod lists;
mod one_link;
mod pending;
mod tools;

pub(super) use tools::{RecordingHook, open_with_hook};

use evenkeel::testing::TestClock;
use shortlink::store::DatabaseUrl;
use tools::open;

/// Runs the whole suite on the empty database at `url`.
pub(super) async fn run(url: &DatabaseUrl) {
    let clock = TestClock::default();
    let store = open(url, &clock).await;
    store.ping().await.unwrap();
    one_link::created_link_is_found_unchanged(&store).await;
    one_link::odd_urls_are_stored_byte_for_byte(&store).await;
    one_link::codes_differ_by_case(&store).await;
    one_link::patch_changes_named_fields_only(&store, &clock).await;
    one_link::recreated_code_has_higher_version(&store, &clock).await;
    lists::list_is_paged_and_searched(&store).await;
    lists::redirect_does_not_wait_for_searches(&store).await;
    lists::rows_are_walked_in_insertion_order(&store).await;
    imports::import_adds_missing_rows(&store).await;
    imports::clicks_are_imported_with_their_link_only(&store).await;
    imports::checkpoint_commits_with_its_rows(&store).await;
    at_once::taken_code_is_skipped(&store).await;
    at_once::instances_share_one_sequence(&store, url, &clock).await;
    at_once::one_of_concurrent_writes_wins(&store).await;
    imports::concurrent_imports_add_each_row_once(&store, url, &clock).await;
    after::effects_commit_with_their_change(url, &clock).await;
    after::link_expires_once(&store, &clock).await;
    clicks::entries_are_added_once(&store, &clock).await;
    clicks::concurrent_folds_add_each_entry_once(&store).await;
    clicks::deleted_link_has_no_clicks(&store).await;
    pending::pending_writes_are_applied_in_order_and_once(&store, &clock).await;
    store.close().await;
}
