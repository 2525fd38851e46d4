//! The one sentence that says why a job is where it is.

use crate::console::rights::Visitor;
use crate::output::printable;
use crate::time::span;
use evenkeel::queue::topic::Why;

/// The sentence as this visitor may read it: the text of an error may tell what the body hides.
pub(crate) fn sentence(why: &Why, visitor: &Visitor) -> String {
    let after = |error: &str| {
        if visitor.sees_bodies() {
            format!(": {}", printable(error.as_bytes()).trim_end_matches('.'))
        } else {
            String::new()
        }
    };
    match why {
        Why::Dead { errors, error, .. } => {
            format!("It is a dead letter after {}{}. Redrive or delete it.", attempts(*errors), after(error))
        }
        Why::Retrying { attempt, in_ms, error } => {
            format!("Attempt {attempt} starts in {}; the last one failed{}.", span(*in_ms), after(error))
        }
        Why::NotDue { in_ms } => format!("It is not due yet: it is due in {}.", span(*in_ms)),
        Why::Running { for_ms } => format!("A worker has been running it for {}.", span(*for_ms)),
        Why::Claimed { for_ms } => format!("A worker claimed it {} ago and has not started it.", span(*for_ms)),
        Why::Silent { for_ms, workers: 0 } => {
            format!(
                "Its worker has been silent for {}, and no consumer is running that could rescue it. Start one.",
                span(*for_ms)
            )
        }
        Why::Silent { for_ms, .. } => {
            format!("Its worker has been silent for {}; another consumer rescues it within 5 s.", span(*for_ms))
        }
        Why::Paused { in_ms: None } => "The topic is paused until it is resumed.".to_owned(),
        Why::Paused { in_ms: Some(ms) } => format!("The topic is paused for another {}.", span(*ms)),
        other => web::sentence(other),
    }
}

fn attempts(errors: u16) -> String {
    if errors == 1 { "1 failed attempt".to_owned() } else { format!("{errors} failed attempts") }
}

#[cfg(test)]
mod tests {
    use super::sentence;
    use crate::console::rights::{Role, Visitor};
    use evenkeel::queue::topic::Why;

    fn visitor(role: Role) -> Visitor {
        Visitor { role: Some(role), ..Visitor::anonymous(String::new()) }
    }

    #[test]
    fn reason_hides_errors_from_viewers() {
        let dead = Why::Dead { at: 0, errors: 3, error: "card 4111 refused".to_owned() };
        let expected = "It is a dead letter after 3 failed attempts: card 4111 refused. Redrive or delete it.";
        assert_eq!(sentence(&dead, &visitor(Role::Operator)), expected);
        assert_eq!(sentence(&dead, &visitor(Role::Viewer)), expected.replace(": card 4111 refused", ""));
        let retrying = Why::Retrying { attempt: 2, in_ms: 65_000, error: "card 4111".to_owned() };
        assert_eq!(sentence(&retrying, &visitor(Role::Viewer)), "Attempt 2 starts in 1 m 5 s; the last one failed.");
    }

    #[test]
    fn reasons_are_sentences() {
        let reasons =
            [Why::Unreadable, Why::Unknown, Why::Expired, Why::NoConsumer, Why::Behind { jobs: 7 }, Why::Next];
        for why in reasons {
            let text = sentence(&why, &visitor(Role::Viewer));
            assert!(text.starts_with(|c: char| c.is_uppercase() || c.is_numeric()) && text.ends_with('.'), "{text}");
        }
    }
}
