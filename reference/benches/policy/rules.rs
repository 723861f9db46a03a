//! Rules as people write them, in a mix that is the same in every run, and paths to ask about.

/// So many patterns: two of five a subtree, one a file, and names, endings and inner wildcards.
pub(crate) fn patterns(count: usize) -> Vec<String> {
    let kind = |at: usize| match at % 20 {
        0..=7 => format!("dir{at}/sub{}/**", at % 7),
        8..=11 => format!("dir{at}/sub{}/file{at}.rs", at % 7),
        12..=14 => format!("**/name{at}"),
        15..=17 => format!("**/*.ext{at}"),
        _ => format!("dir{at}/*/b{}/**/*.log", at % 5),
    };
    (0..count).map(kind).collect()
}

/// Of ten paths, so many are of the kind that rules with inner wildcards are about. GlobSet runs
/// one regular expression a rule for those, and looks the others up: the mix decides what it costs.
pub(crate) type LogsInTen = usize;

/// The mix in which the figures are bounded.
pub(crate) const USUAL_MIX: LogsInTen = 5;

/// Paths of `depth` names for `count` rules: most lie below some rule.
pub(crate) fn paths(count: usize, depth: usize, logs: LogsInTen) -> Vec<Vec<String>> {
    let path = |at: usize| {
        let rule = at * 37 % count;
        let head = [format!("dir{rule}"), format!("sub{}", rule % 7), format!("b{}", rule % 5)];
        let middle = (0..depth).map(|level| format!("level{level}"));
        let mut names: Vec<String> = head.into_iter().chain(middle).take(depth - 1).collect();
        names.push(match at % 10 {
            kind if kind < logs => "x.log".to_owned(),
            kind if kind % 2 == 0 => format!("file{rule}.rs"),
            _ => format!("x.ext{rule}"),
        });
        names
    };
    (0..60).map(path).collect()
}
