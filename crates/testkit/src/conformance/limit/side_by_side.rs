//! The model and the script of limits, compared on the same random calls, with promise M1 checked in every interval.

use super::ledger::{Bounds, Ledger};
use super::rig::Rig;
use crate::conformance::differential::{Differential, same};
use anyhow::{Result, ensure};
use evenkeel::limit::Quota;
use evenkeel_protocol::limit::steps::Debited;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Levels of the calls.
const LEVELS: usize = 3;
/// Instances.
const INSTANCES: u8 = 4;

/// The model and the script of a limit.
pub struct Limits {
    model: Rig,
    redis: Rig,
    random: StdRng,
    /// Of each level the bucket of its rate and that of its window.
    ledgers: Vec<[Ledger; 2]>,
    /// A refused call, the time that it must wait, and the time since.
    refused: Option<(Step, u64, u64)>,
}

/// A call, or an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Time passes.
    Advance(u64),
    /// The clock is set back.
    SetBack(u64),
    /// A debit of levels with these quotas.
    Debit {
        /// The quota of each level.
        levels: Vec<Bounds>,
        /// How many tokens.
        tokens: u32,
        /// The longest wait.
        wait_ms_max: u64,
    },
    /// An instance uses the limit.
    Attend(u8),
}

impl Differential for Limits {
    type Step = Step;

    const REPLIES: &'static [&'static str] = &["Debit Admitted", "Debit Refused", "Attend 1", "Attend 3"];

    async fn open(seed: u64) -> Result<Self> {
        let (model, redis) = (Rig::memory().await?, Rig::redis().await?);
        let mut random = StdRng::seed_from_u64(seed);
        let ledgers = (0..LEVELS)
            .map(|_| [Bounds::any_rate(&mut random), Bounds::any_window(&mut random)].map(Ledger::new))
            .collect();
        Ok(Self { model, redis, random, ledgers, refused: None })
    }

    fn draw(&mut self) -> Step {
        let random = &mut self.random;
        match random.random_range(0..1_000) {
            0..=249 => Step::Advance(random.random_range(1..40)),
            250..=299 => Step::Advance(random.random_range(100..3_000)),
            300..=309 => Step::Advance(random.random_range(20_000..90_000)),
            310..=317 => Step::SetBack(random.random_range(1..4_000_000)),
            318..=359 => Step::Attend(random.random_range(1..=INSTANCES)),
            360..=499 => match &self.refused {
                // Up to the time, or just short of it.
                Some((_, wait_ms, since)) if wait_ms > since => {
                    Step::Advance((wait_ms - since - u64::from(random.random_bool(0.3))).max(1))
                }
                Some((refused, ..)) => refused.clone(),
                None => Step::Advance(1),
            },
            _ => self.debit(),
        }
    }

    async fn play(&mut self, step: &Step) -> Result<String> {
        let (model, debited) = make(&self.model, step).await?;
        let (scripts, _) = make(&self.redis, step).await?;
        let reply = same(step, &model, &scripts)?;
        self.note(step, debited)?;
        Ok(reply)
    }

    async fn check(&mut self) -> Result<()> {
        for ledger in self.ledgers.iter_mut().flatten() {
            ledger.check()?;
            *ledger = Ledger::new(ledger.bounds());
        }
        Ok(())
    }

    /// Every bucket is full again.
    async fn finish(self) -> Result<()> {
        const WEEK_MS: u64 = 7 * 86_400_000;
        for rig in [&self.model, &self.redis] {
            for quota in self.ledgers.iter().map(|[rate, _]| rate.bounds().quota()) {
                rig.time.advance(WEEK_MS).await?;
                rig.take(quota, quota.tokens_at_once()).await?;
            }
        }
        Ok(())
    }
}

impl Limits {
    /// A debit worth making.
    fn debit(&mut self) -> Step {
        let random = &mut self.random;
        let count = random.random_range(1..=LEVELS);
        let levels: Vec<Bounds> = self.ledgers[..count]
            .iter()
            .map(|[rate, window]| match random.random_range(0..100) {
                // A program with other settings.
                0 => Bounds::any_rate(random),
                1 => Bounds::any_window(random),
                2..=59 => rate.bounds(),
                _ => window.bounds(),
            })
            .collect();
        let most = levels.iter().map(|bounds| bounds.quota().tokens_at_once()).min().unwrap_or(1);
        let tokens = if random.random_bool(0.7) { 1 } else { random.random_range(1..=most) };
        let wait_ms_max = match random.random_range(0..4) {
            0 => random.random_range(0..5_000),
            1 => random.random_range(0..100_000),
            _ => 0,
        };
        Step::Debit { levels, tokens, wait_ms_max }
    }

    /// Checks what is known of the reply, and notes what was admitted.
    fn note(&mut self, step: &Step, debited: Option<Debited>) -> Result<()> {
        let now = self.model.time.now();
        match (step, debited) {
            (Step::Advance(ms), _) => {
                if let Some((.., since)) = &mut self.refused {
                    *since += ms;
                }
            }
            (Step::SetBack(_), _) => {
                self.refused = None;
                // Intervals that contain the leap have no length.
                for ledger in self.ledgers.iter_mut().flatten() {
                    *ledger = Ledger::new(ledger.bounds());
                }
            }
            (Step::Debit { levels, tokens, wait_ms_max }, Some(debited)) => {
                if let Some((refused, wait_ms, since)) = &self.refused
                    && refused == step
                {
                    let left_ms = wait_ms.saturating_sub(*since);
                    let is_exact = match debited {
                        Debited::Refused { retry_after_ms, .. } => retry_after_ms == left_ms && left_ms > *wait_ms_max,
                        Debited::Admitted { wait_ms, .. } => wait_ms == left_ms,
                    };
                    ensure!(is_exact, "{since} ms after a refusal for {wait_ms} ms: {debited:?}");
                }
                match debited {
                    Debited::Refused { retry_after_ms, .. } => self.refused = Some((step.clone(), retry_after_ms, 0)),
                    Debited::Admitted { wait_ms, .. } => {
                        self.refused = None;
                        self.admitted(levels, now + wait_ms, *tokens);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn admitted(&mut self, levels: &[Bounds], time: u64, tokens: u32) {
        for (bounds, pair) in levels.iter().zip(&mut self.ledgers) {
            let ledger = &mut pair[usize::from(matches!(bounds, Bounds::Window(..)))];
            if ledger.bounds() == *bounds {
                ledger.add(time, tokens);
            } else {
                // Until the program with the usual settings goes on, its bounds say nothing.
                *ledger = Ledger::new(ledger.bounds());
            }
        }
    }
}

/// Makes a step on one backend: the text of its reply, and what a debit has found.
async fn make(rig: &Rig, step: &Step) -> Result<(String, Option<Debited>)> {
    match step {
        Step::Advance(ms) => rig.time.advance(*ms).await?,
        Step::SetBack(ms) => rig.time.set_back(*ms).await?,
        Step::Attend(number) => return Ok((rig.attend(*number).await?.to_string(), None)),
        Step::Debit { levels, tokens, wait_ms_max } => {
            let quotas: Vec<Quota> = levels.iter().map(|bounds| bounds.quota()).collect();
            let debited = rig.debit(&quotas, *tokens, *wait_ms_max).await?;
            return Ok((format!("{debited:?}"), Some(debited)));
        }
    }
    Ok((rig.time.now().to_string(), None))
}
