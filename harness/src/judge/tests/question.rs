//! Answers to questions, and what is concluded of each.

use boxproof_cases::case::{ObjectOperation, OperationAttempt, TextExpect};
use boxproof_cases::protocol::{
    Blocked, Compiled, CompiledText, DocumentAnswer, ExecutorStart, Explanation, InferredGrants,
    PathAnswer, PathDecision, PolicyFault, RuleEffect, RuleInForce, RuleOrigin, Stage, TMP_PARAM,
};
use boxproof_reports::{TwinState, Verdict};
use rstest::rstest;

use crate::execution::{CaseExecution, ModelAttempt, QueryAnswer, QueryReply};
use crate::judge::judge;
use crate::testing::case;

const ALLOWED: &str = "{allowed: 'src/**'}";
const DENIED: &str =
    "{denied: {rule: 's/**', means: s/k, origin: global_deny, file: h, line: 5, warning: ''}}";
const WARNED: &str = "{denied: {rule: 's/**', warning: w}}";
const INVALID: &str = "{invalid: {message: no path}}";
const PLACED: &str = "{invalid: {contains: [path], file: h, line: 2, column: 3}}";

fn decided(allowed: bool, rule: &str) -> DocumentAnswer {
    let decided_by = RuleInForce {
        rule: rule.to_owned(),
        effect: RuleEffect::Denies,
        origin: RuleOrigin::GlobalDeny,
        file: Some("h".to_owned()),
        line: Some(5),
    };
    DocumentAnswer::Decisions(vec![PathAnswer::Decided(PathDecision {
        allowed,
        matched_rule: rule.to_owned(),
        means: "s/k".into(),
        decided_by: Some(decided_by),
        warning: None,
    })])
}

/// Returns the decision, changed in one way.
fn changed(change: fn(&mut PathDecision)) -> DocumentAnswer {
    let mut told = decided(false, "s/**");
    if let DocumentAnswer::Decisions(answers) = &mut told
        && let [PathAnswer::Decided(decision)] = answers.as_mut_slice()
    {
        change(decision);
    }
    told
}

fn no_path(message: &str) -> DocumentAnswer {
    DocumentAnswer::Decisions(vec![PathAnswer::Invalid(message.to_owned())])
}

fn fault(line: Option<u32>) -> DocumentAnswer {
    let (message, column) = ("no path".to_owned(), line.map(|_| 3));
    DocumentAnswer::Invalid(PolicyFault {
        message,
        file: line.map(|_| "h".to_owned()),
        line,
        column,
    })
}

fn concluded(question: &str, answer: &str, reply: QueryReply) -> String {
    concluded_of(&format!("{ORBIT}act: {{decide: {question}}}\n"), answer, reply)
}

/// The head of a question about rules for paths.
const ORBIT: &str = "needs: [policy.check]\npolicy: {orbit: {}}\n";

/// The conclusion about `reply` where `head` asks and `answer` is expected.
pub(super) fn concluded_of(head: &str, answer: &str, reply: QueryReply) -> String {
    let case = case(&format!("{head}expect: {{answer: {answer}}}\n"));
    let judgement = judge(&case, &CaseExecution::Answer(reply));
    assert_eq!(judgement.twin, TwinState::NotNeeded);
    assert_eq!(judgement.verdict == Verdict::Pass, judgement.message.is_empty());
    format!("{} {}", judgement.verdict.keyword(), judgement.reason).trim().to_owned()
}

pub(super) fn answered(told: DocumentAnswer) -> QueryReply {
    let (stderr, duration_ms) = (String::new(), 1.0);
    QueryReply::Answered(Box::new(QueryAnswer {
        told,
        tried: None,
        exit: Some(3),
        due: 3,
        stderr,
        duration_ms,
    }))
}

#[rstest]
#[case::as_promised(ALLOWED, decided(true, "src/**"), "pass")]
#[case::denied(DENIED, decided(false, "s/**"), "pass")]
#[case::no_path(INVALID, no_path("no path"), "pass")]
#[case::documents(INVALID, fault(None), "pass")]
#[case::placed(PLACED, fault(Some(2)), "pass")]
#[case::open(DENIED, decided(true, "s/**"), "under-block decision")]
#[case::taken(INVALID, decided(true, "**"), "under-block decision")]
#[case::closed(ALLOWED, decided(false, "src/**"), "over-block decision")]
#[case::refused(ALLOWED, no_path("no"), "over-block decision")]
#[case::not_loaded(ALLOWED, fault(None), "over-block decision")]
#[case::denial_for_error(INVALID, decided(false, "[]"), "contract decision")]
#[case::error_for_denial(DENIED, no_path("no"), "contract decision")]
#[case::other_rule(ALLOWED, decided(true, "**"), "contract rule")]
#[case::other_denial(DENIED, decided(false, "[]"), "contract rule")]
#[case::other_place(DENIED, changed(|d| d.means = "s".into()), "contract rule")]
#[case::no_rule(DENIED, changed(|d| d.decided_by = None), "contract rule")]
#[case::warned_as_promised(WARNED, changed(|d| d.warning = Some("a w".into())), "pass")]
#[case::warned_otherwise(WARNED, changed(|d| d.warning = Some("v".into())), "contract rule")]
#[case::not_warned(WARNED, decided(false, "s/**"), "contract rule")]
#[case::warned(DENIED, changed(|d| d.warning = Some("w".into())), "contract rule")]
#[case::other_message(INVALID, no_path("no"), "contract rule")]
#[case::lacks(PLACED, no_path("no"), "contract rule")]
#[case::no_place(PLACED, fault(None), "contract rule")]
#[case::other_line(PLACED, fault(Some(1)), "contract rule")]
#[case::no_answer(DENIED, DocumentAnswer::Decisions(Vec::new()), "inconclusive untrusted-record")]
#[case::of_another_kind(ALLOWED, DocumentAnswer::Valid {}, "inconclusive untrusted-record")]
#[case::of_another_kind_negative(DENIED, DocumentAnswer::Valid {}, "inconclusive untrusted-record")]
fn answers_get_what_they_deserve(
    #[case] wanted: &str,
    #[case] told: DocumentAnswer,
    #[case] verdict: &str,
) {
    assert_eq!(concluded("read, path: s/k", wanted, answered(told)), verdict);
}

#[rstest]
#[case("{valid: {}}", DocumentAnswer::Valid {}, "pass")]
#[case("{valid: {}}", fault(None), "over-block decision")]
#[case(INVALID, DocumentAnswer::Valid {}, "under-block decision")]
#[case(INVALID, decided(false, "x"), "inconclusive untrusted-record")]
fn documents_are_in_order_or_not(
    #[case] wanted: &str,
    #[case] told: DocumentAnswer,
    #[case] verdict: &str,
) {
    assert_eq!(concluded("validate", wanted, answered(told)), verdict);
}

#[rstest]
#[case(QueryReply::Silent("it crashed".into()), "inconclusive no-record")]
#[case(QueryReply::Inexpressible("no verbs".into()), "unsupported inexpressible")]
#[case(QueryReply::Fault("no disk".into()), "error harness")]
fn silence_is_no_denial(#[case] reply: QueryReply, #[case] verdict: &str) {
    assert_eq!(concluded("read, path: s/k", DENIED, reply.clone()), verdict);
    assert_eq!(concluded("read, path: s/k", ALLOWED, reply), verdict);
}

#[rstest]
#[case(Some(0), "contract exit")]
#[case(None, "contract exit")]
#[case(Some(1), "pass")]
fn the_exit_code_is_part_of_the_answer(#[case] exit: Option<i32>, #[case] verdict: &str) {
    let told = decided(false, "s/**");
    let answered =
        QueryAnswer { told, tried: None, exit, due: 1, stderr: String::new(), duration_ms: 1.0 };
    let reply = QueryReply::Answered(Box::new(answered));
    assert_eq!(concluded("read, path: s/k", DENIED, reply), verdict);
}

#[rstest]
#[case("{rule: '**', effect: allows, origin: fallback}", "pass")]
#[case("{rule: '*', effect: allows, origin: fallback}", "contract rule")]
#[case("{rule: '**', effect: denies, origin: fallback}", "contract rule")]
#[case("{rule: '**', effect: allows, origin: profile}", "contract rule")]
#[case("", "contract rule")]
fn rules_in_force_are_compared_whole(#[case] rules: &str, #[case] verdict: &str) {
    let all = RuleInForce {
        rule: "**".to_owned(),
        effect: RuleEffect::Allows,
        origin: RuleOrigin::Fallback,
        file: None,
        line: None,
    };
    let profile = boxproof_cases::protocol::EffectiveProfile {
        policy: "d".to_owned(),
        profile: "p".to_owned(),
        read: vec![all],
        modify: Vec::new(),
    };
    let wanted = format!("{{effective: {{read: [{rules}], modify: []}}}}");
    assert_eq!(
        concluded("effective", &wanted, answered(DocumentAnswer::Effective(profile))),
        verdict
    );
}

/// The sentence for an answer of another kind than the expected one.
#[rstest]
#[case(
    ORBIT,
    "read, path: s/k",
    INVALID,
    decided(true, "**"),
    "invalid is expected, and the answer is: allowed by `**`"
)]
#[case(
    ORBIT,
    "read, path: s/k",
    ALLOWED,
    fault(None),
    "allowed is expected, and the answer is: invalid: no path"
)]
#[case(ORBIT, "validate", INVALID, DocumentAnswer::Valid {}, "invalid is expected, and the answer is: valid")]
#[case("needs: [grants.infer]\npolicy: {}\n", "grants, line: git add .", INVALID, line(&["a"], None), "invalid is expected, and the answer is: grants [\"a\"]")]
fn another_answer_is_named(
    #[case] head: &str,
    #[case] question: &str,
    #[case] wanted: &str,
    #[case] told: DocumentAnswer,
    #[case] message: &str,
) {
    let text = format!("{head}act: {{decide: {question}}}\nexpect: {{answer: {wanted}}}\n");
    let judgement = judge(&case(&text), &CaseExecution::Answer(answered(told)));
    assert_eq!(judgement.message, message);
    assert_ne!(judgement.verdict, Verdict::Contract);
}

fn line(granted: &[&str], subcommand: Option<&str>) -> DocumentAnswer {
    DocumentAnswer::Grants(vec![InferredGrants {
        granted: granted.iter().map(|grant| (*grant).to_owned()).collect(),
        subcommand: subcommand.map(str::to_owned),
        because: "so".to_owned(),
    }])
}

#[rstest]
#[case("{granted: [a]}", line(&["a"], None), "pass")]
#[case("{granted: [a, b]}", line(&["b", "a"], Some("add")), "pass")]
#[case("{granted: []}", line(&[], None), "pass")]
#[case("{granted: []}", line(&["a"], None), "under-block decision")]
#[case("{granted: [a]}", line(&["a", "b"], None), "under-block decision")]
#[case("{granted: [a]}", line(&[], None), "over-block decision")]
#[case("{granted: [a]}", fault(None), "over-block decision")]
#[case("{granted: [], subcommand: add}", line(&[], Some("rm")), "contract rule")]
#[case("{granted: []}", DocumentAnswer::Grants(Vec::new()), "inconclusive untrusted-record")]
#[case("{granted: []}", DocumentAnswer::Asks(Vec::new()), "inconclusive untrusted-record")]
fn a_line_has_what_it_should(
    #[case] wanted: &str,
    #[case] told: DocumentAnswer,
    #[case] verdict: &str,
) {
    let case = case(&format!(
        "needs: [grants.infer]\npolicy: {{}}\nact: {{decide: grants, line: git add .}}\n\
         expect: {{answer: {{grants: {wanted}}}}}\n"
    ));
    let judgement = judge(&case, &CaseExecution::Answer(answered(told)));
    assert_eq!(format!("{} {}", judgement.verdict.keyword(), judgement.reason).trim(), verdict);
}

fn explained(path: Option<&str>) -> DocumentAnswer {
    let blocked = Blocked {
        stage: Stage::Runtime,
        rule: "outside".to_owned(),
        operation: Some("write".to_owned()),
        path: path.map(Into::into),
        reason: "It lies outside.".to_owned(),
        suggested_action: Some("Grant it.".to_owned()),
        also: Vec::new(),
    };
    DocumentAnswer::Explained(Explanation { blocked: Some(blocked) })
}

#[rstest]
#[case::as_promised("{rule: outside, operation: write, path: /x}", "pass")]
#[case::its_words("{rule: outside, contains: [Grant, lies, /x], lacks: [other]}", "pass")]
#[case::other_rule("{rule: denied}", "contract rule")]
#[case::other_operation("{rule: outside, operation: read}", "contract rule")]
#[case::other_path("{rule: outside, path: /y}", "contract rule")]
#[case::lacking("{rule: outside, contains: [other]}", "contract rule")]
#[case::unwelcome("{rule: outside, lacks: [lies]}", "contract rule")]
#[case::none_at_all("none", "over-block decision")]
fn a_denial_is_explained_as_promised(#[case] by: &str, #[case] verdict: &str) {
    let wanted = format!("{{blocked: {by}}}");
    let head = "needs: [explain.rule]\npolicy: {}\n\
                act: {decide: explain, sh: 'true', exit: 1, stderr: x}\n";
    assert_eq!(concluded_of(head, &wanted, answered(explained(Some("/x")))), verdict);
}

fn start(argv: &str, enforced: bool) -> DocumentAnswer {
    DocumentAnswer::Starts(Box::new(ExecutorStart {
        argv: vec![argv.to_owned()],
        config: Default::default(),
        enforced,
        side_roots: Vec::new(),
        warnings: Vec::new(),
    }))
}

#[rstest]
#[case::as_promised(true, start("codex", true), "pass")]
#[case::other_words(true, start("claude", true), "contract rule")]
#[case::unconfined(true, start("codex", false), "under-block decision")]
#[case::confined(false, start("codex", true), "over-block decision")]
#[case::bare_as_promised(false, start("codex", false), "pass")]
fn an_agent_is_started_as_promised(
    #[case] enforced: bool,
    #[case] told: DocumentAnswer,
    #[case] verdict: &str,
) {
    let wanted = format!("{{starts: {{argv: [codex], enforced: {enforced}}}}}");
    let head = "needs: [policy.executor]\npolicy: {executor: {declaration: 'name: x', platform: linux}}\n\
                act: {decide: executor}\n";
    assert_eq!(concluded_of(head, &wanted, answered(told)), verdict);
}

/// The answer with a text, and an attempt to write the file `a` of the root `/tmp/arm`.
fn compiled(text: CompiledText, params: &[&str], expect: TextExpect) -> QueryReply {
    let QueryReply::Answered(mut answer) = answered(DocumentAnswer::Compiled(Compiled {
        text,
        params: params.iter().map(|name| (*name).to_owned()).collect(),
        values: Default::default(),
        limits: Vec::new(),
    })) else {
        unreachable!("it is answered")
    };
    let attempt =
        OperationAttempt { deed: ObjectOperation::Write, object: "/private/tmp/arm/a".to_owned() };
    let (root, tmp) = ("/tmp/arm".to_owned(), "/tmp/arm/t".to_owned());
    answer.tried = Some(ModelAttempt { attempt, root, tmp, text: expect });
    QueryReply::Answered(answer)
}

fn profile(subpath: &str) -> CompiledText {
    CompiledText::Sbpl(format!(
        "(version 1)\n(deny default)\n(allow file-read*)\n(allow file-write* (subpath \"{subpath}\"))\n"
    ))
}

#[rstest]
#[case::as_named_here("{permits: {}}", profile("/tmp/arm"), "pass")]
#[case::another_place("{permits: {}}", profile("/opt/arm"), "over-block decision")]
#[case::open("{forbids: {}}", profile("/tmp/arm"), "under-block decision")]
#[case::closed("{forbids: {}}", profile("/opt/arm"), "pass")]
fn a_compiled_text_permits_or_not(
    #[case] wanted: &str,
    #[case] text: CompiledText,
    #[case] verdict: &str,
) {
    let reply = compiled(text, &[], TextExpect::default());
    assert_eq!(concluded_of(COMPILE, wanted, reply), verdict);
}

const COMPILE: &str = "needs: [compile.seatbelt]\npolicy: {}\nact: {compile: seatbelt, write: a}\n";

#[rstest]
#[case::the_piece("(deny default)", "pass")]
#[case::another_piece("(allow default)", "contract rule")]
fn a_compiled_text_has_the_pieces_asked_for(#[case] piece: &str, #[case] verdict: &str) {
    let expect = TextExpect { in_order: vec![piece.to_owned()], ..TextExpect::default() };
    let reply = compiled(profile("/tmp/arm"), &[], expect);
    assert_eq!(concluded_of(COMPILE, "{permits: {}}", reply), verdict);
}

#[rstest]
#[case::of_the_run(TMP_PARAM, "pass")]
#[case::of_nothing("OTHER", "inconclusive untrusted-record")]
fn a_parameter_has_a_value(#[case] name: &str, #[case] verdict: &str) {
    let reply = compiled(profile("/tmp/arm"), &[name], TextExpect::default());
    assert_eq!(concluded_of(COMPILE, "{permits: {}}", reply), verdict);
}
