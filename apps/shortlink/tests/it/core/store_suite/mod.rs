//! What every store promises, as one suite that each database passes.

mod after;
mod at_once;
mod imports;
mod lists;
mod noted;
mod one_link;
mod tools;

pub(super) use tools::{Told, open_told};

use evenkeel::clock::TestClock;
use shortlink::store::DatabaseUrl;
use tools::open;

/// Runs the whole suite on the empty database at `url`.
pub(super) async fn run(url: &DatabaseUrl) {
    let clock = TestClock::default();
    let store = open(url, &clock).await;
    store.ping().await.unwrap();
    one_link::a_link_comes_back_as_it_was_made(&store).await;
    one_link::odd_addresses_come_back_byte_for_byte(&store).await;
    one_link::codes_differ_by_case(&store).await;
    one_link::a_patch_changes_what_it_names(&store, &clock).await;
    one_link::a_code_made_again_has_a_higher_version(&store, &clock).await;
    lists::a_list_has_pages_and_is_searched(&store).await;
    lists::a_redirect_does_not_wait_behind_searches(&store).await;
    lists::rows_are_walked_in_order(&store).await;
    imports::an_import_adds_what_is_missing(&store).await;
    imports::a_checkpoint_is_kept_with_its_rows(&store).await;
    at_once::a_code_in_the_way_is_passed_over(&store).await;
    at_once::instances_share_one_sequence(&store, url, &clock).await;
    at_once::one_of_many_wins(&store).await;
    imports::imports_at_once_add_nothing_twice(&store, url, &clock).await;
    after::a_change_is_told_of_in_its_own_transaction(url, &clock).await;
    after::a_link_ends_once(&store, &clock).await;
    noted::noted_writes_are_settled_in_order_and_once(&store, &clock).await;
    store.close().await;
}
