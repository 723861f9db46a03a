//! The models against their originals: generated mount tables are tried by real `bwrap`, and
//! the same deeds are asked of the Seatbelt model and of the engine that decides on documents.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::models_support::{
    Dice, ModelFixture, compile, compile_request, decided, engine_decisions, orbit, orbit_whole,
    policy, raw, try_all,
};
use boxproof::models::mounts::Mounts;
use boxproof::models::sbpl::Profile;
use boxproof_cases::case::ObjectOperation;
use boxproof_cases::protocol::{CompileTarget, CompiledText, DocumentAnswer};

/// Policies of each kind, and deeds in all, at least.
const KINDS: usize = 110;
const DEEDS: usize = 3000;

#[test]
fn the_model_of_bwrap_says_what_bwrap_does() {
    let directory = crate::models_support::directory();
    let mut dice = Dice(20_261_128);
    let (mut tables, mut deeds, mut done, mut differ) = ([0, 0], 0, 0, Vec::new());
    for number in 0.. {
        let kind = number % 2;
        if tables.iter().all(|count| *count >= KINDS) || number > 8 * KINDS {
            break;
        }
        let fixture = ModelFixture::lay_out(&directory.path().join(format!("p{number}")));
        let argv = match kind {
            0 => match compile(CompileTarget::Bubblewrap, &policy(&fixture, &mut dice), &fixture) {
                DocumentAnswer::Compiled(compiled) => match compiled.text {
                    CompiledText::Argv(argv) => argv,
                    CompiledText::Sbpl(text) => panic!("a profile for bwrap: {text}"),
                },
                _ => continue,
            },
            _ => raw(&fixture, &mut dice),
        };
        let mounts = Mounts::read(&argv).unwrap();
        let Some(tried) = try_all(&fixture, &argv) else { continue };
        tables[kind] += 1;
        for (attempt, happened) in tried {
            let says = mounts.permits(attempt.deed, &attempt.object).unwrap();
            deeds += 1;
            done += usize::from(happened);
            if says != happened {
                differ.push(format!("{attempt}: model {says}, bwrap {happened}: {argv:?}"));
            }
        }
    }
    let count = tables.iter().sum::<usize>();
    println!("{deeds} deeds ({done} done) under {count} tables: {} differences", differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(5)].join("\n"));
    assert!(tables.iter().all(|count| *count >= KINDS), "{tables:?}");
    assert!(deeds >= DEEDS && done > deeds / 10 && done < deeds * 9 / 10, "{done} of {deeds}");
}

#[test]
fn a_profile_compiled_for_bwrap_opens_nothing_that_the_engine_closes() {
    let directory = crate::models_support::directory();
    let mut dice = Dice(5);
    let (mut tables, mut deeds, mut made, mut differ) = (0, 0, 0, Vec::new());
    for number in 0..90 {
        let fixture = ModelFixture::lay_out(&directory.path().join(format!("p{number}")));
        let profile = match number % 3 {
            0 => orbit_whole(&fixture, &mut dice),
            _ => orbit(&fixture, &mut dice),
        };
        let request = compile_request(&serde_json::json!({ "profile": profile }), &fixture);
        let DocumentAnswer::Compiled(compiled) =
            compile(CompileTarget::Bubblewrap, &request, &fixture)
        else {
            continue;
        };
        let CompiledText::Argv(argv) = compiled.text else { panic!("{compiled:?}") };
        let mounts = Mounts::read(&argv).unwrap();
        let engine = decided(&fixture, &profile);
        let tried = try_all(&fixture, &argv).expect("bwrap starts");
        tables += 1;
        for ((attempt, said), (_, happened)) in engine.into_iter().zip(tried) {
            let says = mounts.permits(attempt.deed, &attempt.object).unwrap();
            let due = match (attempt.deed, said) {
                (_, None) => Some(false),
                (ObjectOperation::Read, Some([read, _])) => Some(read),
                (ObjectOperation::Write, Some([read, modify])) => Some(read && modify),
                // A name is made and removed in fewer places than the engine allows, never in more.
                (_, Some([read, modify])) => (!(read && modify)).then_some(false),
            };
            deeds += 1;
            made += usize::from(happened && attempt.deed == ObjectOperation::Create);
            if says != happened || due.is_some_and(|due| due != happened) {
                differ.push(format!(
                    "{attempt}: model {says}, bwrap {happened}, engine {said:?}: {profile} {argv:?}"
                ));
            }
        }
    }
    println!("{deeds} deeds under {tables} profiles, {made} names made: {} differ", differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(3)].join("\n"));
    assert!(tables >= 60 && deeds >= 1500 && made >= 20, "{tables} {deeds} {made}");
}

#[test]
fn both_compiled_texts_of_a_policy_permit_the_same() {
    let directory = crate::models_support::directory();
    let mut dice = Dice(7);
    let (mut texts, mut deeds, mut differ) = (0, 0, Vec::new());
    for number in 0..80 {
        let fixture = ModelFixture::lay_out(&directory.path().join(format!("p{number}")));
        let request = policy(&fixture, &mut dice);
        let answers = CompileTarget::ALL.map(|target| compile(target, &request, &fixture));
        let [DocumentAnswer::Compiled(argv), DocumentAnswer::Compiled(profile)] = &answers else {
            continue;
        };
        let (CompiledText::Argv(argv), CompiledText::Sbpl(text)) = (&argv.text, &profile.text)
        else {
            panic!("{answers:?}");
        };
        texts += 1;
        let (mounts, profile) = (Mounts::read(argv).unwrap(), Profile::read(text, []).unwrap());
        for attempt in fixture.attempts() {
            let [one, other] = [
                mounts.permits(attempt.deed, &attempt.object).unwrap(),
                profile.permits(attempt.deed, &attempt.object).unwrap(),
            ];
            deeds += 1;
            if one != other {
                differ.push(format!("{attempt}: bwrap {one}, seatbelt {other}\n{argv:?}\n{text}"));
            }
        }
    }
    println!("{deeds} deeds under {texts} policies: {} differences", differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(2)].join("\n"));
    assert!(texts >= 50 && deeds >= 2000, "{deeds} of {texts}");
}

#[test]
fn a_compiled_profile_of_documents_permits_what_the_engine_allows() {
    let directory = crate::models_support::directory();
    let mut dice = Dice(11);
    let (mut deeds, mut allowed, mut differ) = (0, 0, Vec::new());
    let fixture = ModelFixture::lay_out(&directory.path().join("w"));
    for _ in 0..60 {
        let profile = orbit(&fixture, &mut dice);
        let request = compile_request(&serde_json::json!({ "profile": profile }), &fixture);
        let DocumentAnswer::Compiled(compiled) =
            compile(CompileTarget::Seatbelt, &request, &fixture)
        else {
            continue;
        };
        let CompiledText::Sbpl(text) = compiled.text else { panic!("{compiled:?}") };
        let model = Profile::read(&text, []).unwrap();
        for (deed, path, allows) in engine_decisions(&fixture, &profile) {
            let object = fixture.workspace().join(&path);
            let says = model.permits(deed, object.to_str().unwrap()).unwrap();
            deeds += 1;
            allowed += usize::from(allows);
            if says != allows {
                differ
                    .push(format!("{} {path}: engine {allows}, {profile}\n{text}", deed.keyword()));
            }
        }
    }
    println!("{deeds} deeds ({allowed} allowed): {} differences", differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(2)].join("\n"));
    assert!(deeds >= 2000 && allowed > deeds / 10 && allowed < deeds * 9 / 10, "{allowed}");
}
