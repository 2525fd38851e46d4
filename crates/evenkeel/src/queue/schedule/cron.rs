//! Cron expressions of five fields, in a time zone.
//!
//! Minute, hour, day of the month, month, day of the week; each `*`, a number, a name, a range, a list, or steps (`*/15`,
//! `8-18/2`). If both days are restricted, either is enough, as in other crons. `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly`
//! are shorthands.
//!
//! No crate keeps these rules: `cronexpr` 1.7 leaves out a time that a daylight saving change skips and repeats one that it repeats, `croner`
//! 4.0 moves a skipped time to the end of the gap (`daylight_saving_change_skips_and_repeats_no_tick`), and both accept steps longer than
//! their range (`cron_step_above_its_range_is_rejected`).

use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan};
use std::str::FromStr;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const SHORTHANDS: [(&str, &str); 6] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];
/// Every expression with an occurrence has one within this many days. The longest gap is that of a 29 February on one day of the week around
/// a year like 2100: forty years.
const DAYS_MAX: u32 = 40 * 366 + 1;

/// A cron expression in a time zone.
#[derive(Clone, Debug)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both day fields are restricted, so a match of either is enough.
    either_day: bool,
    zone: TimeZone,
    /// The five fields of the expression.
    text: String,
}

/// The error for an invalid cron expression or an unknown time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotCron(String);

impl FromStr for Cron {
    type Err = NotCron;

    /// Parses an expression. Its time zone is UTC unless [`in_zone`](Cron::in_zone) sets another one.
    fn from_str(text: &str) -> Result<Self, NotCron> {
        let fields = SHORTHANDS.iter().find(|(name, _)| *name == text.trim()).map_or(text, |(_, fields)| fields);
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(NotCron(format!(
                "`{text}` has {} fields; a cron expression has five: minute, hour, day of the month, month, day of the week",
                fields.len()
            )));
        };
        let mut weekdays = field(weekday, "day of the week", 0, 7, &WEEKDAYS)?;
        // Both 0 and 7 are Sunday.
        weekdays = (weekdays | (weekdays >> 7)) & 0x7f;
        let cron = Self {
            minutes: field(minute, "minute", 0, 59, &[])?,
            hours: field(hour, "hour", 0, 23, &[])?,
            days: field(day, "day of the month", 1, 31, &[])?,
            months: field(month, "month", 1, 12, &MONTHS)?,
            weekdays,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
            zone: TimeZone::UTC,
            text: fields.join(" "),
        };
        let occurs = cron.after(Timestamp::UNIX_EPOCH).next().is_some();
        match occurs {
            true => Ok(cron),
            false => Err(NotCron(format!("`{text}` never occurs: none of its months has such a day"))),
        }
    }
}

impl Cron {
    /// Sets the time zone, by its IANA name (`Europe/Berlin`). A time that a daylight saving change skips occurs an hour later; a time that
    /// it repeats occurs the first time only, or both times if the expression matches every hour.
    ///
    /// # Errors
    /// The time zone is unknown on this machine (its time zone database may not be installed).
    pub fn in_zone(self, name: &str) -> Result<Self, NotCron> {
        let zone = TimeZone::get(name).map_err(|error| NotCron(format!("unknown time zone `{name}`: {error}")))?;
        Ok(Self { zone, ..self })
    }

    /// The five fields, one space between them.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The time zone of the expression.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The occurrences after `start`, in ascending order, until the end of the calendar.
    pub fn after(&self, start: Timestamp) -> impl Iterator<Item = Timestamp> {
        // A daylight saving change may move a time into the next day, so the search begins a day early.
        let first = start.to_zoned(self.zone.clone()).date();
        let mut day = first.checked_sub(1.day()).ok();
        let mut empty_days = 0;
        std::iter::from_fn(move || {
            let today = day.filter(|_| empty_days <= DAYS_MAX)?;
            day = today.tomorrow().ok();
            let times = self.times_of(today);
            empty_days = if times.is_empty() { empty_days + 1 } else { 0 };
            Some(times)
        })
        .flatten()
        .scan(start, |last, time| {
            let is_later = time > *last;
            *last = time.max(*last);
            Some(is_later.then_some(time))
        })
        .flatten()
    }

    /// The occurrences of one day, in order.
    fn times_of(&self, day: Date) -> Vec<Timestamp> {
        if !self.matches(day) {
            return Vec::new();
        }
        let every_hour = self.hours == (1 << 24) - 1;
        let mut times = Vec::new();
        for (hour, minute) in bits(self.hours).flat_map(|hour| bits(self.minutes).map(move |minute| (hour, minute))) {
            let ambiguous = self.zone.to_ambiguous_timestamp(day.at(hour, minute, 0, 0));
            let is_twice = matches!(ambiguous.offset(), AmbiguousOffset::Fold { .. });
            let is_left_out = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
            if every_hour && is_left_out {
                continue;
            }
            times.extend(ambiguous.compatible().ok());
            if every_hour && is_twice {
                times.extend(ambiguous.later().ok());
            }
        }
        times.sort_unstable();
        times.dedup();
        times
    }

    fn matches(&self, day: Date) -> bool {
        let has = |set: u64, number: i8| set >> number & 1 == 1;
        let by_month = has(self.days, day.day());
        let by_week = has(self.weekdays, day.weekday().to_sunday_zero_offset());
        has(self.months, day.month()) && if self.either_day { by_month || by_week } else { by_month && by_week }
    }
}

/// The numbers in a set.
fn bits(set: u64) -> impl Iterator<Item = i8> + Clone {
    (0..64_i8).filter(move |bit| set >> bit & 1 == 1)
}

/// Parses one field to a set of numbers.
fn field(text: &str, what: &str, min: u32, max: u32, names: &[&str]) -> Result<u64, NotCron> {
    let wrong =
        || NotCron(format!("`{text}` is not a valid {what}; allowed: {min} to {max}, `*`, `a-b`, `a,b` or `*/n`"));
    let number = |text: &str| {
        let named = names.iter().position(|name| text.len() >= 3 && text.eq_ignore_ascii_case(name));
        let base = if names.len() == 12 { 1 } else { 0 };
        let number = match named.and_then(|at| u32::try_from(at).ok()) {
            Some(at) => at + base,
            None => text.parse().map_err(|_| wrong())?,
        };
        if (min..=max).contains(&number) { Ok(number) } else { Err(wrong()) }
    };
    let mut set = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|step| *step > 0).ok_or_else(wrong)?),
            None => (part, 1_usize),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (min, max),
            Some((from, to)) => (number(from)?, number(to)?),
            // `5/15` starts at 5 and ends at the field's maximum.
            None if part.contains('/') => (number(range)?, max),
            None => (number(range)?, number(range)?),
        };
        if from > to {
            return Err(wrong());
        }
        // Other crons use the first number alone, which is surely not meant by `*/90`.
        if step > 1 && u32::try_from(step).map_or(true, |step| step > to - from) {
            return Err(NotCron(format!(
                "`{part}` of the {what}: the step {step} is longer than the range {from} to {to}; write `{from}` to match only that value"
            )));
        }
        (from..=to).step_by(step).for_each(|number| set |= 1_u64 << number);
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::Cron;
    use jiff::Timestamp;

    fn times(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let cron = expression.parse::<Cron>().unwrap().in_zone(zone).unwrap();
        let after: Timestamp = after.parse().unwrap();
        cron.after(after).take(count).map(|time| time.to_string()).collect()
    }

    // shows: hazard SF6
    #[test]
    fn cron_fields_have_their_usual_meaning() {
        let after = "2026-02-27T23:59:59Z";
        assert_eq!(
            times("*/20 8-10/2 * * *", "UTC", after, 4),
            ["2026-02-28T08:00:00Z", "2026-02-28T08:20:00Z", "2026-02-28T08:40:00Z", "2026-02-28T10:00:00Z"]
        );
        assert_eq!(times("0 0 29 feb *", "UTC", after, 2), ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]);
        // A day of the month with steps and a day of the week must both match. The expression "never occurred" after more than eight years.
        assert_eq!(times("0 0 */30 2 wed", "UTC", after, 2), ["2034-02-01T00:00:00Z", "2040-02-01T00:00:00Z"]);
        assert_eq!(times("0 0 29/2 feb */7", "UTC", "2088-03-01T00:00:00Z", 1), ["2128-02-29T00:00:00Z"]);
        assert_eq!(times("30 6 * * Mon-Fri", "UTC", after, 2), ["2026-03-02T06:30:00Z", "2026-03-03T06:30:00Z"]);
        assert_eq!(times("0 0 * * 7", "UTC", after, 1), times("@weekly", "UTC", after, 1));
        assert_eq!(
            times("50/5 0 1,15 * *", "UTC", after, 3),
            ["2026-03-01T00:50:00Z", "2026-03-01T00:55:00Z", "2026-03-15T00:50:00Z"]
        );
    }

    #[test]
    fn either_of_two_cron_day_fields_matches() {
        let after = "2026-06-01T00:00:00Z";
        assert_eq!(
            times("0 12 13 * fri", "UTC", after, 4),
            ["2026-06-05T12:00:00Z", "2026-06-12T12:00:00Z", "2026-06-13T12:00:00Z", "2026-06-19T12:00:00Z"]
        );
    }

    #[test]
    fn next_cron_time_is_in_the_future() {
        assert_eq!(times("0 0 * * *", "UTC", "2026-01-01T00:00:00Z", 1), ["2026-01-02T00:00:00Z"]);
    }

    /// In Berlin the hour from 02:00 to 03:00 is skipped on 29 March 2026 and repeated on 25 October.
    #[test]
    fn daylight_saving_change_skips_and_repeats_no_tick() {
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
            ["2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]
        );
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        );
        assert_eq!(
            times("0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", 3),
            ["2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"]
        );
        assert_eq!(
            times("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 3),
            ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]
        );
    }

    #[test]
    fn invalid_cron_expression_is_explained() {
        for (text, expected) in [
            ("* * * *", "has 4 fields"),
            ("60 * * * *", "is not a valid minute"),
            ("* * * * 8", "is not a valid day of the week"),
            ("* * 0 * *", "is not a valid day of the month"),
            ("* 5-3 * * *", "is not a valid hour"),
            ("*/0 * * * *", "is not a valid minute"),
            ("a * * * *", "is not a valid minute"),
            ("0 0 30 2 *", "never occurs"),
        ] {
            let error = text.parse::<Cron>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!("0 0 * * *".parse::<Cron>().unwrap().in_zone("Middle/Earth").is_err());
    }

    #[test]
    fn cron_step_above_its_range_is_rejected() {
        for expression in ["*/90 * * * *", "*/60 * * * *", "0 */24 * * *", "50/15 * * * *", "0 8-18/11 * * *"] {
            let error = expression.parse::<Cron>().unwrap_err().to_string();
            assert!(error.contains("is longer than the range"), "{expression}: {error}");
        }
        for expression in ["*/59 * * * *", "0 */23 * * *", "44/15 * * * *", "7-7/1 * * * *"] {
            assert!(expression.parse::<Cron>().is_ok(), "{expression}");
        }
    }
}
