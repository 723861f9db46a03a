//! One decision at 10 to 10,000 rules and at depths of 3, 8 and 20.

use std::hint::black_box;
use std::time::{Duration, Instant};

use boxproof_reference::policy::orbit::{OrbitGlob, PatternIndex};
use criterion::Criterion;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::RegexSet;

use crate::{pairs, rules};

const COUNTS: [usize; 4] = [10, 100, 1_000, 10_000];
const DEPTHS: [usize; 3] = [3, 8, 20];
/// The depth at which the figures are bounded.
const USUAL: usize = 8;
/// Beyond this a RegexSet does not build in any useful time.
const MOST_REGEXES: usize = 1_000;
const ROUNDS: usize = 31;
/// Times the paths are gone through in one sample.
const TIMES: usize = 20;

/// Prints the tables, and what is bounded.
pub(crate) fn table(criterion: &mut Criterion) {
    let mut usual = Vec::new();
    for count in COUNTS {
        for depth in DEPTHS {
            let (own, globset) = one(criterion, count, depth, rules::USUAL_MIX);
            if depth == USUAL {
                usual.push((own, globset));
            }
        }
    }
    let (few, (many, globset)) = (usual[0].0, usual[COUNTS.len() - 1]);
    println!("at depth {USUAL}:");
    bounded(
        "GlobSet / index at 10,000 rules",
        globset / many,
        "at least 50",
        globset / many >= 50.0,
    );
    bounded("index at 10,000 rules / at 10", many / few, "at most 4", many / few <= 4.0);
    println!(
        "GlobSet / index at 10,000 rules, depth {USUAL}, by how many of ten paths end in .log:"
    );
    for logs in [0, 1, 10] {
        let (own, globset) = one(criterion, 10_000, USUAL, logs);
        println!("  {logs} of 10: {:.1}", globset / own);
    }
}

fn bounded(what: &str, ratio: f64, limit: &str, holds: bool) {
    println!("  {what}: {ratio:.1} ({limit}: {})", crate::verdict(holds));
}

/// Seconds of a decision by the index, and by GlobSet.
fn one(
    criterion: &mut Criterion,
    count: usize,
    depth: usize,
    logs: rules::LogsInTen,
) -> (f64, f64) {
    let patterns = rules::patterns(count);
    let globs: Vec<OrbitGlob> = patterns.iter().map(|text| OrbitGlob::new(text)).collect();
    let (index, set) = (PatternIndex::new(&globs), globset(&patterns));
    let paths = rules::paths(count, depth, logs);
    let texts: Vec<String> = paths.iter().map(|path| path.join("/")).collect();
    let regexes = (count <= MOST_REGEXES).then(|| regexset(&patterns));
    let mut variants = vec![
        pairs::Variant::measured("index", || timed(&paths, |path| index.last_match(path))),
        pairs::Variant::measured("GlobSet", || {
            timed(&texts, |path| set.matches(path).into_iter().max())
        }),
    ];
    if let Some(regexes) = &regexes {
        variants.push(pairs::Variant::measured("RegexSet", || {
            timed(&texts, |path| regexes.matches(path).into_iter().max())
        }));
    }
    let group = format!("{count} rules, depth {depth}, {logs} of 10 in .log");
    let ratios = pairs::compare(criterion, &group, ROUNDS, variants);
    let own = timed(&paths, |path| index.last_match(path)).as_secs_f64();
    (own, own * ratios[1])
}

/// The time of one question, of many.
fn timed<P>(paths: &[P], ask: impl Fn(&P) -> Option<usize>) -> Duration {
    let begun = Instant::now();
    for _ in 0..TIMES {
        for path in paths {
            let _last = black_box(ask(black_box(path)));
        }
    }
    begun.elapsed() / u32::try_from(TIMES * paths.len()).unwrap()
}

pub(crate) fn globset(patterns: &[String]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(GlobBuilder::new(pattern).literal_separator(true).build().unwrap());
    }
    builder.build().unwrap()
}

fn regexset(patterns: &[String]) -> RegexSet {
    let regex = |pattern: &String| {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build().unwrap();
        glob.regex().replace("(?-u)", "")
    };
    RegexSet::new(patterns.iter().map(regex)).unwrap()
}
