//! The pools' conformance suite on Redis.

use testkit::conformance::pool::World;

testkit::pool_suite!(World::redis);
