//! The queue's conformance suite on Redis.

use testkit::conformance::queue::World;

testkit::queue_suite!(World::redis);
