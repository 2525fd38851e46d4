//! The locks' conformance suite on Redis.

use testkit::conformance::lock::World;

testkit::lock_suite!(World::redis);
