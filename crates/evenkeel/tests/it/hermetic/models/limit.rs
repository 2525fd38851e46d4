//! The conformance suite of limits on the model, which is the embedded backend.

use testkit::conformance::limit::Rig;

testkit::limit_suite!(Rig::memory);
