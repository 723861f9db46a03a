//! Interleaved timing: every variant once a round, forwards and backwards in turn, so that drift
//! hits all alike. The first variant runs twice, as the A/A control that says what a ratio of this
//! run can mean.

use std::time::{Duration, Instant};

use criterion::Criterion;

/// One thing to time.
pub(crate) struct Variant<'a> {
    /// The name in reports.
    pub(crate) name: String,
    /// Does it once, and says how long what is compared took.
    pub(crate) once: Box<dyn FnMut() -> Duration + 'a>,
}

impl<'a> Variant<'a> {
    /// A variant called `name`, of which everything is timed.
    pub(crate) fn new(name: impl Into<String>, mut once: impl FnMut() + 'a) -> Self {
        Self::measured(name, move || {
            let start = Instant::now();
            once();
            start.elapsed()
        })
    }

    /// A variant that measures itself.
    pub(crate) fn measured(name: impl Into<String>, once: impl FnMut() -> Duration + 'a) -> Self {
        Self { name: name.into(), once: Box::new(once) }
    }
}

/// The distance of the A/A control from 1 beyond which the run's ratios mean nothing.
const CONTROL: f64 = 0.03;

/// Times `variants` against the first of them in `rounds` rounds, prints the ratios of medians, and
/// hands the samples to criterion for its reports. Returns the ratios, the first being 1.
pub(crate) fn compare(
    criterion: &mut Criterion,
    group: &str,
    rounds: usize,
    mut variants: Vec<Variant<'_>>,
) -> Vec<f64> {
    let count = variants.len();
    let mut samples = vec![Vec::with_capacity(rounds); count];
    let mut control = Vec::with_capacity(rounds);
    for round in 0..=rounds {
        let mut order: Vec<usize> = (0..count).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let took = (variants[at].once)();
            let again = (at == 0).then(|| (variants[0].once)());
            // The first round only warms up.
            if round > 0 {
                samples[at].push(took);
                control.extend(again);
            }
        }
    }
    let first = median(&samples[0]);
    let drift = median(&control).as_secs_f64() / first.as_secs_f64();
    println!("{group}: ratio to `{}` ({first:.1?}), {rounds} rounds", variants[0].name);
    let mut ratios = Vec::new();
    for (variant, samples) in variants.iter().zip(&samples) {
        let ratio = median(samples).as_secs_f64() / first.as_secs_f64();
        println!("  {:32} {:10.1?}  {ratio:6.2}x", variant.name, median(samples));
        ratios.push(ratio);
    }
    let sound = (drift - 1.0).abs() <= CONTROL;
    let verdict = if sound { "sound" } else { "inconclusive: the machine was too busy" };
    println!("  {:32} {:10}  {drift:6.2}x  {verdict}", "A/A control", "");
    for (variant, samples) in variants.iter().zip(samples) {
        feed(criterion, group, &variant.name, &samples);
    }
    ratios
}

fn median(samples: &[Duration]) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort();
    sorted[sorted.len() / 2]
}

/// Feeds the measured times to Criterion, which draws them and measures nothing itself.
fn feed(criterion: &mut Criterion, group: &str, name: &str, samples: &[Duration]) {
    let mut next = samples.iter().cycle();
    criterion.bench_function(&format!("{group}/{name}"), |bencher| {
        bencher.iter_custom(|iterations| next.by_ref().take(iterations as usize).sum());
    });
}

/// A criterion that spends no time of its own.
pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(1))
        .without_plots()
}
