//! Ordinary work goes on beside names that must not come to be.

use std::fs;

use libtest_mimic::Trial;
use serde_json::json;

use crate::acts::both;
use crate::bed::TestBed;

pub(crate) fn trials() -> Vec<Trial> {
    both("ordinary_work_goes_on", work_goes_on).into()
}

/// Each line must succeed.
const WORK: [&str; 12] = [
    "mkdir -p src/a/b && echo one > src/a/b/f && echo two >> src/a/b/f",
    "tar cf t.tar src && mkdir un && tar xf t.tar -C un && diff -r src un/src",
    "cp -r src src2 && mv src2 src3 && rm -r src3",
    "echo new > f.tmp && mv f.tmp f && test \"$(cat f)\" = new",
    "sed -i s/new/newer/ f && test \"$(cat f)\" = newer",
    "ln -s f link && ln f hard && cp link copied && test -s copied",
    "mkfifo p && { cat p > got & } && echo through > p && wait && grep -q through got",
    "x=$(mktemp) && y=$(mktemp -d) && echo t > $x && mv $x $y/z",
    "{ flock 9; echo locked; } 9> lock | grep -q locked",
    "(echo out > /dev/stdout) | grep -q out && echo no > /dev/null && (echo err > /dev/stderr) 2> e && grep -q err e",
    "set -C; ! (echo x > f) 2> /dev/null && echo x >| f; set +C",
    "cat > here <<END && grep -q text here\ntext\nEND",
];

fn work_goes_on(who: &'static str) {
    let bed = TestBed::new(who);
    let lines: Vec<String> = WORK
        .iter()
        .enumerate()
        .map(|(n, line)| format!("{{ {line}\n}} || exit {}", 10 + n))
        .collect();
    let policy = json!({"protect": "metadata", "deny_write": [bed.ws("never/made")]});
    bed.sh(&policy, &lines.join("\n")).expect(0);
    assert_eq!(fs::read_to_string(bed.ws("un/src/a/b/f")).unwrap(), "one\ntwo\n");
}
