//! The arguments of the program, and the ends of runs by it.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::json;

use super::bench::Bench;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    vec![
        trial("the_program_is_given_the_profile_and_the_command", given),
        trial("endings_are_those_of_the_command", endings),
        trial("a_command_that_is_not_there_is_told_in_our_words", not_there),
        trial("a_profile_that_is_not_taken_is_no_end_of_the_command", not_taken),
        trial("without_macos_there_is_none", elsewhere),
    ]
}

fn given() {
    let bench = Bench::new();
    let line = "printf '%s' \"$TMPDIR\"; test -d \"$TMPDIR\"";
    let (output, result) = bench.done(&bench.request(line));
    assert_eq!(output.status.code(), Some(0), "{result}");
    assert_eq!((&result["mechanism"], &result["started"]), (&json!("seatbelt"), &json!(true)));
    assert_eq!(result["enforced"]["fs.write"], "partial");
    let [asked, ran] = <[_; 2]>::try_from(bench.recorded_calls()).unwrap();
    let temp = String::from_utf8(output.stdout).unwrap();
    let file = &ran.words[1];
    let head = ["-f", file.as_str(), "-D", &format!("TMP={temp}"), "--"].map(str::to_owned);
    assert_eq!(
        (&asked.words[..5], &asked.words[5..]),
        (&head[..], &["/usr/bin/true".to_owned()][..])
    );
    assert_eq!(
        (&ran.words[..5], &ran.words[5..]),
        (&head[..], &["sh", "-c", line].map(str::to_owned)[..])
    );
    assert_eq!(Path::new(file).parent(), Some(bench.at("run/refbox").as_path()));
    assert!(ran.profile.starts_with("(version 1)\n(deny default)\n"), "{}", ran.profile);
    let granted =
        format!("(allow file-read* file-write* (subpath \"{}\"))", bench.at("w").display());
    assert!(ran.profile.contains(&granted), "{}", ran.profile);
    assert_eq!((asked.profile, asked.mode), (ran.profile, "600".to_owned()));
    assert_eq!(ran.mode, "600");
    assert!(bench.profiles().is_empty() && !Path::new(&temp).exists());
}

fn endings() {
    let bench = Bench::new();
    for (line, code, signal) in
        [("exit 7", 7, None), ("kill -9 $$", 137, Some(9)), ("exit 65", 65, None)]
    {
        let (output, result) = bench.done(&bench.request(line));
        assert_eq!(output.status.code(), Some(code), "{line}");
        assert_eq!(result["signal"].as_i64(), signal, "{line}");
        assert_eq!(result["error"], json!(null), "{line}");
    }
    let mut request = bench.request("sleep 100 & wait");
    request["run"]["timeout_ms"] = 200.into();
    let (output, result) = bench.done(&request);
    assert_eq!((output.status.code(), &result["timed_out"]), (Some(124), &json!(true)));
    assert!(bench.profiles().is_empty());
}

fn not_there() {
    let bench = Bench::new();
    for name in ["no-such-program", "/usr/no-such-program"] {
        let mut request = bench.request("");
        request["run"]["command"] = json!({"argv": [name]});
        let (output, result) = bench.done(&request);
        assert_eq!((output.status.code(), &result["started"]), (Some(127), &json!(false)));
        assert_eq!(result["error"]["kind"], "spawn");
        assert!(result["error"]["message"].as_str().unwrap().starts_with("failed to spawn"));
    }
    assert!(bench.profiles().is_empty());
}

fn not_taken() {
    let bench = Bench::new();
    std::fs::write(bench.at("run/refuse"), "").unwrap();
    let (output, result) = bench.done(&bench.request("touch made"));
    assert_eq!((output.status.code(), &result["started"]), (Some(126), &json!(false)));
    assert_eq!(result["error"]["kind"], "setup");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("exit status: 65): sandbox-exec: bad profile"), "{message}");
    assert_eq!(bench.recorded_calls().len(), 1);
    assert!(!bench.at("w/made").exists() && bench.profiles().is_empty());
}

fn elsewhere() {
    let bench = Bench::new();
    let refbox = assert_cmd::cargo::cargo_bin("refbox");
    let ours = bench.refbox("result", &bench.request("touch made"));
    let words: Vec<_> = ours.get_args().skip(1).collect();
    let output = Command::new(&refbox).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    let error = &bench.result("result")["error"];
    assert_eq!(error["kind"], "unavailable");
    let wanted = "Seatbelt is part of macOS, and this is linux";
    assert!(error["message"].as_str().unwrap().starts_with(wanted), "{error}");
    assert!(!bench.at("w/made").exists());
    let asked =
        Command::new(&refbox).args(["capabilities", "--mechanism", "seatbelt"]).output().unwrap();
    assert_eq!(asked.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&asked.stderr).contains(wanted));
}
