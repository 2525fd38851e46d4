//! The queue's conformance suite on Redis.

use testkit::conformance::queue::Rig;

testkit::queue_suite!(Rig::redis);
