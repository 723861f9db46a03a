//! The work before a decision: building the index, and resolving a path.

use std::hint::black_box;
use std::time::Instant;

use boxproof_reference::policy::orbit::{
    OrbitGlob, PathResolver, PatternIndex, PolicyDocument, PolicyOperation, PolicySet,
};
use criterion::Criterion;

use crate::decisions::globset;
use crate::{pairs, rules};

const RULES: usize = 10_000;
const DEPTH: usize = 8;

/// Building at 10,000 rules, and a whole call that asks one question.
pub(crate) fn building(criterion: &mut Criterion) {
    let patterns = rules::patterns(RULES);
    let build = || {
        let globs: Vec<OrbitGlob> = patterns.iter().map(|text| OrbitGlob::new(text)).collect();
        drop(black_box(PatternIndex::new(&globs)));
    };
    let variants = vec![
        pairs::Variant::new("index", build),
        pairs::Variant::new("GlobSet", || drop(black_box(globset(&patterns)))),
    ];
    pairs::compare(criterion, "building 10,000 rules", 11, variants);
    let path = rules::paths(RULES, DEPTH, rules::USUAL_MIX).remove(0);
    let text = document(&patterns);
    let begun = Instant::now();
    let set = PolicySet::new(&PolicyDocument::parse("p", "p", &text).unwrap(), None).unwrap();
    let read = begun.elapsed();
    let begun = Instant::now();
    black_box(set.profile("p").unwrap().decide(PolicyOperation::Read, &path));
    let asked = begun.elapsed();
    let holds = crate::verdict(asked.as_millis() < 10);
    println!(
        "one question at 10,000 rules: {asked:.1?} after reading {read:.1?} (below 10 ms: {holds})"
    );
    let odd: Vec<OrbitGlob> =
        (0..RULES).map(|at| OrbitGlob::new(&format!("**/x{at}*y?z/**"))).collect();
    let begun = Instant::now();
    drop(black_box(PatternIndex::new(&odd)));
    println!("ten thousand `**/x*y?z/**` rules build in {:.1?}", begun.elapsed());
}

fn document(patterns: &[String]) -> String {
    let rules: String = patterns.iter().map(|rule| format!("        - \"{rule}\"\n")).collect();
    format!(
        "schemaVersion: 2\nkind: Policy\nmetadata: {{name: p}}\nspec:\n  fsProfiles:\n    p:\n      \
         read:\n{rules}"
    )
}

/// A decision on the disk against finding the path alone.
pub(crate) fn resolving(criterion: &mut Criterion) {
    let directory = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let names: Vec<String> = (0..DEPTH).map(|level| format!("level{level}")).collect();
    let path = directory.path().join(names.join("/"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "").unwrap();
    let text = document(&rules::patterns(1_000));
    let set = PolicySet::new(&PolicyDocument::parse("p", "p", &text).unwrap(), None).unwrap();
    let profile = set.profile("p").unwrap();
    let resolver = PathResolver::new(directory.path()).unwrap();
    let variants = vec![
        pairs::Variant::new("canonicalize", || drop(black_box(path.canonicalize().unwrap()))),
        pairs::Variant::new("resolve", || drop(black_box(resolver.resolve(&names).unwrap()))),
        pairs::Variant::new("resolve and decide", || {
            let names = names.iter().map(|name| name.clone().into_bytes()).collect();
            black_box(
                resolver.look_up_names(names).unwrap().decide(&profile, PolicyOperation::Read),
            );
        }),
    ];
    pairs::compare(criterion, "a path of 8 names on the disk", 501, variants);
}
