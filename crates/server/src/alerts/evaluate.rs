//! [`Evaluator`]: which alerts fire and which clear, from one reading after another.

use super::rules::{Figure, Rule, Severity};
use super::subject::Subject;
use serde::Serialize;
use std::collections::BTreeMap;

/// One value of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) figure: Figure,
    pub(super) subject: Subject,
    pub(super) value: f64,
}

/// The samples of one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) samples: Vec<Sample>,
    /// Figures that could not be read: their alerts stay as they are.
    pub(super) unread: Vec<Figure>,
    /// What could not be read although others of its kind were: its alerts stay as they are, too.
    pub(super) sick: Vec<Subject>,
}

/// What happened to an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// It fires.
    Firing,
    /// It fired before, and its rule holds again.
    Resolved,
}

/// A change of an alert, as the webhook receives it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Notice {
    /// The same for the notices of one alert, from its firing to its end, and for repetitions of a notice.
    pub(super) id: String,
    pub(super) rule: &'static str,
    pub(super) subject: String,
    pub(super) state: State,
    pub(super) severity: Severity,
    pub(super) value: f64,
    pub(super) limit: f64,
    /// Since when the rule is violated, in ms since 1970.
    pub(super) since_ms: u64,
    /// When the alert fired or cleared, in ms since 1970.
    pub(super) at_ms: u64,
    pub(super) meaning: &'static str,
    /// The page of the console that helps: its address if the console's is known, otherwise its path.
    pub(super) page: String,
    pub(super) action: String,
}

/// A rule that is violated for a subject.
struct Violation {
    since_ms: u64,
    value: f64,
    has_fired: bool,
}

/// See the module.
pub(super) struct Evaluator {
    rules: Vec<Rule>,
    /// The address of the console, without a slash at its end; empty: unknown.
    console: String,
    /// By rule and subject.
    violations: BTreeMap<(usize, Subject), Violation>,
}

impl Evaluator {
    pub(super) fn new(rules: Vec<Rule>, console: &str) -> Self {
        Self { rules, console: console.to_owned(), violations: BTreeMap::new() }
    }

    /// Evaluates a reading of the moment `now_ms`.
    pub(super) fn evaluate(&mut self, now_ms: u64, reading: &Reading) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut violated = Vec::new();
        for (number, rule) in self.rules.iter().enumerate() {
            let samples = reading.samples.iter().filter(|sample| Some(sample.figure) == rule.figure);
            for sample in samples.filter(|sample| rule.is_violated(sample.value)) {
                violated.push((number, sample.subject.clone()));
                let key = (number, sample.subject.clone());
                let first = Violation { since_ms: now_ms, value: sample.value, has_fired: false };
                let violation = self.violations.entry(key).or_insert(first);
                violation.value = sample.value;
                let has_lasted = now_ms.saturating_sub(violation.since_ms) >= rule.hold_s.saturating_mul(1_000);
                if has_lasted && !std::mem::replace(&mut violation.has_fired, has_lasted) {
                    notices.push(notice(rule, &self.console, &sample.subject, violation, State::Firing, now_ms));
                }
            }
        }
        let (rules, console) = (&self.rules, &self.console);
        self.violations.retain(|key, violation| {
            let rule = &rules[key.0];
            let is_unread = rule.figure.is_some_and(|figure| reading.unread.contains(&figure));
            if is_unread || reading.sick.contains(&key.1) || violated.contains(key) {
                return true;
            }
            if violation.has_fired {
                notices.push(notice(rule, console, &key.1, violation, State::Resolved, now_ms));
            }
            false
        });
        notices
    }

    /// Whether an alert is firing.
    pub(super) fn is_any_firing(&self) -> bool {
        self.violations.values().any(|violation| violation.has_fired)
    }
}

fn notice(rule: &Rule, console: &str, subject: &Subject, violation: &Violation, state: State, at_ms: u64) -> Notice {
    Notice {
        id: format!("{}/{subject}/{}", rule.name, violation.since_ms),
        rule: rule.name,
        subject: subject.to_string(),
        state,
        severity: rule.severity,
        value: violation.value,
        limit: rule.limit,
        since_ms: violation.since_ms,
        at_ms,
        meaning: rule.meaning,
        page: format!("{console}{}", subject.page(rule.page)),
        action: subject.action(rule.action),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::RULES;
    use super::*;

    fn reading(figure: Figure, value: f64) -> Reading {
        Reading {
            samples: vec![Sample { figure, subject: Subject::Topic("mail".to_owned()), value }],
            ..Reading::default()
        }
    }

    fn states(notices: &[Notice]) -> Vec<(&str, State)> {
        notices.iter().map(|notice| (notice.rule, notice.state)).collect()
    }

    #[test]
    fn alert_fires_after_its_rule_was_violated_for_its_duration() {
        let mut evaluator = Evaluator::new(RULES.to_vec(), "");
        let late = reading(Figure::QueueLate, 31.0);
        assert_eq!(evaluator.evaluate(1_000, &late), []);
        assert_eq!(evaluator.evaluate(60_999, &late), []);
        let fired = evaluator.evaluate(61_000, &late);
        assert_eq!(states(&fired), [("QueueLate", State::Firing)]);
        assert_eq!(evaluator.evaluate(62_000, &late), [], "it fires once");
        assert!(evaluator.is_any_firing());
        let cleared = evaluator.evaluate(63_000, &reading(Figure::QueueLate, 30.0));
        assert_eq!(states(&cleared), [("QueueLate", State::Resolved)]);
        assert_eq!((&cleared[0].id, cleared[0].since_ms), (&fired[0].id, 1_000));
        assert!(!evaluator.is_any_firing());
        // A violation that ends early starts again from zero.
        assert_eq!(evaluator.evaluate(70_000, &late), []);
        assert_eq!(evaluator.evaluate(71_000, &reading(Figure::QueueLate, 0.0)), []);
        assert_eq!(evaluator.evaluate(140_000, &late), []);
    }

    #[test]
    fn alert_whose_figure_is_unread_stays_and_no_data_fires() {
        let mut evaluator = Evaluator::new(RULES.to_vec(), "");
        let fired = evaluator.evaluate(1_000, &reading(Figure::DeadLetters, 2.0));
        assert_eq!(states(&fired), [("DeadLetters", State::Firing)]);
        let mut silent = reading(Figure::DataAge, 61.0);
        silent.unread.push(Figure::DeadLetters);
        assert_eq!(states(&evaluator.evaluate(62_000, &silent)), [("NoData", State::Firing)]);
        // The topic was deleted meanwhile.
        let back = evaluator.evaluate(63_000, &reading(Figure::DataAge, 0.0));
        assert_eq!(states(&back), [("NoData", State::Resolved), ("DeadLetters", State::Resolved)]);
    }

    /// One topic that Redis rejects ended the reading of all others.
    // shows: hazard SF17
    #[test]
    fn alert_of_a_sick_topic_stays_while_others_are_evaluated() {
        let mut evaluator = Evaluator::new(RULES.to_vec(), "");
        let sample =
            |topic: &str| Sample { figure: Figure::DeadLetters, subject: Subject::Topic(topic.to_owned()), value: 2.0 };
        let both = Reading { samples: vec![sample("mail"), sample("push")], ..Reading::default() };
        assert_eq!(evaluator.evaluate(1_000, &both).len(), 2);
        let sick = Reading { sick: vec![Subject::Topic("mail".to_owned())], ..Reading::default() };
        let ended = evaluator.evaluate(2_000, &sick);
        assert_eq!(ended.iter().map(|notice| notice.subject.as_str()).collect::<Vec<_>>(), ["push"]);
        assert_eq!(evaluator.evaluate(3_000, &Reading::default()).len(), 1);
    }

    // shows: hazard PO9
    #[test]
    fn notice_names_topic_and_address_of_console() {
        let mut evaluator = Evaluator::new(RULES.to_vec(), "https://ops.example.com");
        let fired = evaluator.evaluate(1_000, &reading(Figure::DeadLetters, 2.0));
        assert_eq!(fired[0].page, "https://ops.example.com/queues/mail/dead");
        assert!(fired[0].action.contains("`evenkeel queue dead ls mail`"), "{}", fired[0].action);
        let subject = Subject::Group { stream: "orders".to_owned(), group: "billing".to_owned() };
        let sample = |figure| Sample { figure, subject: subject.clone(), value: 9_999.0 };
        let samples = [Figure::StreamDeadLetters, Figure::StreamPending].map(sample).to_vec();
        let fired = evaluator.evaluate(2_000, &Reading { samples, ..Reading::default() });
        for notice in fired {
            let texts = format!("{} {}", notice.page, notice.action);
            assert!(["TOPIC", "STREAM", "GROUP"].iter().all(|place| !texts.contains(place)), "{texts}");
        }
    }
}
