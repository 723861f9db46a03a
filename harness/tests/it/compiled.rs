//! Mutants of compiled texts: the reference's answers to `compile`, each spoilt in one way. The
//! corpus tells every one of them, by the verdict that the fault deserves.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::support::{BOXPROOF, Place};
use boxproof::backend::{SettledUser, resolve};
use boxproof::case_pair::CasePair;
use boxproof::execution::{CaseExecution, QueryReply};
use boxproof::judge::judge;
use boxproof::run::query::{QueryContext, ask_all};
use boxproof_cases::protocol::{CompiledText, DocumentAnswer};
use boxproof_cases::{Case, Suite};
use rstest::rstest;

/// Returns every question about a compiled text, with the reference's answer.
fn answers(capability: &str) -> Vec<(Arc<Case>, CaseExecution)> {
    let suite = Suite::embedded().unwrap();
    let asks = |case: &&Case| case.needs.iter().any(|needed| needed.name() == capability);
    let cases: Vec<Arc<Case>> = suite.cases.iter().filter(asks).cloned().map(Arc::new).collect();
    let backend = resolve("reference", Path::new(BOXPROOF), &SettledUser::own()).unwrap();
    let place = Place::new();
    let (scratch, probe) = (place.path("arms"), Path::new(BOXPROOF));
    std::fs::create_dir(&scratch).unwrap();
    let desk = QueryContext { scratch: &scratch, probe, run_id: "bx-compiled", slots: 4 };
    let pairs: Vec<CasePair> = (0..cases.len()).map(|case| CasePair { case, backend: 0 }).collect();
    let mut seen: HashMap<_, _> = ask_all(&desk, (&cases, &[backend]), &pairs);
    let answered = cases.into_iter().zip(pairs);
    answered.map(|(case, pair)| (case, seen.remove(&pair).unwrap())).collect()
}

/// The verdicts on the answers, their texts changed by `change`.
fn verdicts(
    answers: &[(Arc<Case>, CaseExecution)],
    change: &dyn Fn(&mut CompiledText),
) -> HashMap<String, usize> {
    let mut verdicts = HashMap::new();
    for (case, execution) in answers {
        let mut execution = execution.clone();
        if let CaseExecution::Answer(QueryReply::Answered(answered)) = &mut execution
            && let DocumentAnswer::Compiled(compiled) = &mut answered.told
        {
            change(&mut compiled.text);
        }
        let judgement = judge(case, &execution);
        let verdict = format!("{} {}", judgement.verdict.keyword(), judgement.reason);
        *verdicts.entry(verdict.trim().to_owned()).or_insert(0) += 1;
    }
    verdicts
}

/// Passes each rule of `text` through `change`; an empty result goes.
fn each_rule(text: &str, change: &dyn Fn(&str) -> String) -> String {
    text.lines().map(change).filter(|rule| !rule.is_empty()).map(|rule| rule + "\n").collect()
}

/// A mutation of one rule of a profile.
type Rule = fn(&str) -> String;

/// Returns whether `rule` denies an operation on files.
fn denies(rule: &str) -> bool {
    rule.starts_with("(deny file")
}

/// Returns whether `rule` allows an operation on files.
fn allows(rule: &str) -> bool {
    rule.starts_with("(allow file")
}

fn drop_if(rule: &str, dropped: bool) -> String {
    if dropped { String::new() } else { rule.to_owned() }
}

fn replace_if(rule: &str, applies: bool, from: &str, to: &str) -> String {
    if applies { rule.replace(from, to) } else { rule.to_owned() }
}

/// Mutations, and the verdict that one row at least must have.
const SEATBELT: &[(&str, Rule, &str)] = &[
    ("drops denials", |r| drop_if(r, denies(r)), "under-block decision"),
    ("reads the denied", |r| replace_if(r, denies(r), "file-read* ", ""), "under-block decision"),
    (
        "writes the denied",
        |r| replace_if(r, denies(r), "file-write*", "file-write-acl"),
        "under-block decision",
    ),
    ("drops patterns", |r| drop_if(r, denies(r) && r.contains("(regex")), "under-block decision"),
    (
        "removes the pinned",
        |r| drop_if(r, r.starts_with("(deny file-write-unlink")),
        "under-block decision",
    ),
    ("denies one name", |r| replace_if(r, denies(r), "subpath", "literal"), "under-block decision"),
    (
        "denies creation only",
        |r| replace_if(r, denies(r), "file-write*", "file-write-create"),
        "under-block decision",
    ),
    (
        "denies data only",
        |r| replace_if(r, denies(r), "file-write*", "file-write-data"),
        "under-block decision",
    ),
    (
        "opens the network",
        |r| replace_if(r, true, "(deny network*", "(allow network*"),
        "under-block decision",
    ),
    (
        "opens every service",
        |r| match r.starts_with("(allow mach-lookup") {
            true => "(allow mach-lookup)".to_owned(),
            false => r.to_owned(),
        },
        "under-block decision",
    ),
    (
        "allows by default",
        |r| replace_if(r, true, "(deny default)", "(allow default)"),
        "under-block decision",
    ),
    (
        "allows by default in the end",
        |r| replace_if(r, true, "(deny default)", "(allow default (with report))"),
        "under-block decision",
    ),
    (
        "opens the temporary directory",
        |r| drop_if(r, denies(r) && r.contains("\"/private/tmp\"")),
        "under-block decision",
    ),
    (
        "forgets the port",
        |r| replace_if(r, true, "localhost:8080", "localhost:*"),
        "under-block decision",
    ),
    ("names links", |r| r.replace("\"/private/tmp", "\"/tmp"), "over-block decision"),
    ("grants one name", |r| replace_if(r, allows(r), "subpath", "literal"), "over-block decision"),
    (
        "drops grants to write",
        |r| replace_if(r, allows(r), " file-write*", ""),
        "over-block decision",
    ),
    ("drops programs", |r| drop_if(r, r.starts_with("(allow process-exec")), "over-block decision"),
    ("drops services", |r| drop_if(r, r.starts_with("(allow mach-lookup")), "over-block decision"),
    (
        "opens datagrams for streams",
        |r| replace_if(r, true, "remote ip", "remote udp"),
        "over-block decision",
    ),
    (
        "opens every socket",
        |r| drop_if(r, r.starts_with("(deny network-outbound (remote unix-socket")),
        "under-block decision",
    ),
    ("forgets the resolver", |r| drop_if(r, r.contains("mDNSResponder")), "over-block decision"),
    ("grants no socket", |r| drop_if(r, r.contains("unix.sock")), "over-block decision"),
    ("takes a dot for any character", |r| r.replace("\\\\.", "."), "over-block decision"),
    (
        "pins all below",
        |r| replace_if(r, r.starts_with("(deny file-write-unlink"), "literal", "subpath"),
        "over-block decision",
    ),
    (
        "reads one name",
        |r| replace_if(r, r.starts_with("(allow file-read* (subpath"), "subpath", "literal"),
        "over-block decision",
    ),
    // By their order these rules hold, by their names the denials are dead: nothing is decided.
    (
        "grants own names",
        |r| {
            let names = replace_if(r, allows(r), "file-read*", "file-read-data file-read-metadata");
            replace_if(&names, allows(r), "file-write*", "file-write-data file-write-create")
        },
        "inconclusive untrusted-record",
    ),
];

/// A mutation of a whole profile.
type WholeText = fn(&str) -> String;

/// Mutations, and the verdict that one row at least must have.
const WHOLE_SEATBELT: &[(&str, WholeText, &str)] = &[
    ("denies before it allows", |text| denials_first(text), "under-block decision"),
    ("escapes no string", |text| text.replace("\\\"", "\""), "over-block decision"),
    ("has no version", |text| text.replace("(version 1)", ""), "over-block decision"),
    ("ends too early", |text| text[..text.len() / 2].to_owned(), "over-block decision"),
    ("forgets the last mask", |text| without_the_last_mask(text), "under-block decision"),
];

/// The rules of `text`, those first that deny.
fn denials_first(text: &str) -> String {
    let denies = |rule: &&str| rule.starts_with("(deny");
    let (denials, others): (Vec<&str>, Vec<&str>) = text.lines().skip(1).partition(denies);
    format!("(version 1)\n{}\n{}\n", denials.join("\n"), others.join("\n"))
}

/// `text` without the last rule that closes a file or directory for both reading and writing.
fn without_the_last_mask(text: &str) -> String {
    let masks = |rule: &str| rule.starts_with("(deny file-read* file-write*");
    let last = text.lines().rfind(|rule| masks(rule)).unwrap_or_default();
    each_rule(text, &|rule| drop_if(rule, rule == last))
}

/// The words of `bwrap` without each option `name` and its `count` arguments that `chosen` chooses.
fn without(
    words: &[String],
    name: &str,
    count: usize,
    chosen: &dyn Fn(&[String]) -> bool,
) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if word == name && chosen(&after[..count]) {
            rest = &after[count..];
        } else {
            kept.push(word.clone());
            rest = after;
        }
    }
    kept
}

fn renamed(words: &[String], from: &str, to: &str) -> Vec<String> {
    words.iter().map(|word| if word == from { to } else { word }.to_owned()).collect()
}

/// The words of `bwrap` with its binds in reverse order.
fn reversed(words: &[String]) -> Vec<String> {
    let is_bind = |word: &String| word == "--bind" || word == "--ro-bind";
    let starts: Vec<usize> = (0..words.len()).filter(|at| is_bind(&words[*at])).collect();
    let mut changed = words.to_vec();
    for (to, from) in starts.iter().zip(starts.iter().rev()) {
        changed[*to..to + 3].clone_from_slice(&words[*from..from + 3]);
    }
    changed
}

/// A mutation of the words of `bwrap`.
type Words = fn(&[String]) -> Vec<String>;

/// Mutations, and the verdict that one row at least must have.
const BUBBLEWRAP: &[(&str, Words, &str)] = &[
    ("binds for writing", |w| renamed(w, "--ro-bind", "--bind"), "under-block decision"),
    ("keeps the network", |w| without(w, "--unshare-net", 0, &|_| true), "under-block decision"),
    (
        "shares the temporary directory",
        |w| without(w, "--tmpfs", 1, &|at| at[0] == "/tmp"),
        "under-block decision",
    ),
    (
        "drops masks",
        |w| without(w, "--ro-bind", 2, &|at| at[0] == "/dev/null"),
        "under-block decision",
    ),
    (
        "drops read-only binds",
        |w| without(w, "--ro-bind", 2, &|at| at[1] != "/" && at[0] == at[1]),
        "under-block decision",
    ),
    ("binds for reading", |w| renamed(w, "--bind", "--ro-bind"), "over-block decision"),
    ("drops grants", |w| without(w, "--bind", 2, &|_| true), "over-block decision"),
    ("stays in the session", |w| without(w, "--new-session", 0, &|_| true), "contract rule"),
    ("keeps capabilities", |w| without(w, "--cap-drop", 1, &|_| true), "contract rule"),
    ("outlives the launcher", |w| without(w, "--die-with-parent", 0, &|_| true), "contract rule"),
    (
        "keeps the processes in sight",
        |w| without(w, "--unshare-pid", 0, &|_| true),
        "contract rule",
    ),
    ("keeps the queues", |w| without(w, "--unshare-ipc", 0, &|_| true), "contract rule"),
    ("mounts in reverse order", |w| reversed(w), "over-block decision"),
    ("hides the host", |w| without(w, "--ro-bind", 2, &|at| at[1] == "/"), "over-block decision"),
];

/// A mutation, and the verdict that one row at least must have.
type Mutant<'a> = (&'a str, Box<dyn Fn(&mut CompiledText)>, &'a str);

fn mutants() -> [(&'static str, Vec<Mutant<'static>>); 2] {
    let seatbelt = SEATBELT.iter().map(|(name, rule, wanted)| {
        let change = move |text: &mut CompiledText| {
            if let CompiledText::Sbpl(text) = text {
                *text = each_rule(text, rule);
            }
        };
        (*name, Box::new(change) as Box<dyn Fn(&mut CompiledText)>, *wanted)
    });
    let whole = WHOLE_SEATBELT.iter().map(|(name, change, wanted)| {
        let change = move |text: &mut CompiledText| {
            if let CompiledText::Sbpl(text) = text {
                *text = change(text);
            }
        };
        (*name, Box::new(change) as Box<dyn Fn(&mut CompiledText)>, *wanted)
    });
    let seatbelt = seatbelt.chain(whole);
    let bubblewrap = BUBBLEWRAP.iter().map(|(name, words, wanted)| {
        let change = move |text: &mut CompiledText| {
            if let CompiledText::Argv(argv) = text {
                *argv = words(argv);
            }
        };
        (*name, Box::new(change) as Box<dyn Fn(&mut CompiledText)>, *wanted)
    });
    [("compile.seatbelt", seatbelt.collect()), ("compile.bubblewrap", bubblewrap.collect())]
}

#[rstest]
#[case::seatbelt(0)]
#[case::bubblewrap(1)]
fn every_mutant_of_a_compiled_text_is_told(#[case] target: usize) {
    let (capability, mutants) = &mutants()[target];
    let answers = answers(capability);
    let untouched = verdicts(&answers, &|_| {});
    assert_eq!(untouched.get("pass"), Some(&answers.len()), "{untouched:?}");
    let mut survivors = Vec::new();
    for (name, change, wanted) in mutants {
        let verdicts = verdicts(&answers, change);
        println!("{name}: {verdicts:?}");
        if !verdicts.contains_key(*wanted) {
            survivors.push(format!("{name}: no {wanted}, but {verdicts:?}"));
        }
    }
    assert!(survivors.is_empty(), "{survivors:#?}");
}

/// A text that no system would load is not judged by its rules.
#[test]
fn a_text_that_is_far_too_large_is_judged_in_no_row() {
    let answers = answers("compile.seatbelt");
    let rules: String =
        (0..20_000).map(|n| format!("(deny file-read* (literal \"/x/{n}\"))\n")).collect();
    let verdicts = verdicts(&answers, &|text| {
        if let CompiledText::Sbpl(text) = text {
            text.push_str(&rules);
        }
    });
    assert_eq!(
        verdicts.get("pass").copied().unwrap_or_default(),
        expected_refusals(&answers),
        "{verdicts:?}"
    );
}

/// Questions whose answer is that there is no text.
fn expected_refusals(answers: &[(Arc<Case>, CaseExecution)]) -> usize {
    let is_text = |execution: &CaseExecution| match execution {
        CaseExecution::Answer(QueryReply::Answered(answered)) => {
            matches!(answered.told, DocumentAnswer::Compiled(_))
        }
        _ => false,
    };
    answers.iter().filter(|(_, execution)| !is_text(execution)).count()
}
