//! The profile's file: whose it is, and when it goes.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::bench::Bench;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    vec![
        trial("what_a_killed_run_left_is_cleared_by_the_next", killed),
        trial("runs_at_once_have_a_file_each", parallel),
        trial("a_directory_that_is_not_ours_alone_is_refused", hostile),
        trial("a_session_has_its_own_place", session),
    ]
}

fn killed() {
    let bench = Bench::new();
    let alive = bench.waiting("alive", |line| bench.request(line));
    let dead = bench.waiting("dead", |line| bench.request(line));
    assert_eq!(bench.profiles().len(), 2);
    dead.kill();
    // The killed run could not remove it.
    assert_eq!(bench.profiles().len(), 2);
    let (output, _) = bench.done(&bench.request("true"));
    assert_eq!(output.status.code(), Some(0));
    let left = bench.profiles();
    let of_alive = &bench.recorded_calls()[0].words[1];
    assert_eq!(left, [std::path::Path::new(of_alive)]);
    assert_eq!(alive.let_go(), Some(0));
    assert!(bench.profiles().is_empty());
}

fn parallel() {
    const MANY: usize = 20;
    let bench = Bench::new();
    let run = |n: usize| bench.waiting(&format!("run{n}"), |line| bench.request(line));
    let running: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..MANY).map(|n| scope.spawn(move || run(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let there: BTreeSet<_> = bench.profiles().into_iter().collect();
    assert_eq!(there.len(), MANY);
    let seen = bench.recorded_calls();
    let given: BTreeSet<_> = seen.iter().map(|seen| (&seen.words[1]).into()).collect();
    assert_eq!((seen.len(), given), (2 * MANY, there));
    for one in running {
        assert_eq!(one.let_go(), Some(0));
    }
    assert!(bench.profiles().is_empty());
}

fn hostile() {
    let refused = |bench: &Bench, words: &str| {
        let (output, result) = bench.done(&bench.request("touch made"));
        assert_eq!((output.status.code(), &result["error"]["kind"]), (Some(126), &json!("setup")));
        let message = result["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
        assert!(!bench.at("w/made").exists() && bench.recorded_calls().is_empty());
    };
    let linked = Bench::new();
    fs::create_dir(linked.at("elsewhere")).unwrap();
    symlink(linked.at("elsewhere"), linked.at("run/refbox")).unwrap();
    refused(&linked, "a link to one");
    assert_eq!(fs::read_dir(linked.at("elsewhere")).unwrap().count(), 0);
    let open = Bench::new();
    fs::create_dir(open.at("run/refbox")).unwrap();
    fs::set_permissions(open.at("run/refbox"), Permissions::from_mode(0o755)).unwrap();
    refused(&open, "its mode is 0755");
    let loose = Bench::new();
    fs::set_permissions(loose.at("run"), Permissions::from_mode(0o777)).unwrap();
    refused(&loose, "others can replace");
}

fn session() {
    let bench = Bench::new();
    let table = format!(
        "[sandbox]\nenabled = true\n[sandbox.filesystem]\nallow_write = ['{}']\n",
        bench.at("w").display()
    );
    let request = |line: &str| -> Value {
        let documents = json!([{"name": "settings.toml", "text": table}]);
        json!({"protocol": 1, "dialect": "caliban", "documents": documents, "workspace": bench.at("w"),
            "session": "s1", "run": bench.run(line)})
    };
    let place = bench.at("run/caliban/sandbox/s1.sb");
    let first = bench.waiting("first", request);
    assert_eq!(bench.recorded_calls()[0].words[1], place.display().to_string());
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o7777, 0o600);
    let (output, result) = bench.done(&request("touch made"));
    assert_eq!((output.status.code(), &result["error"]["kind"]), (Some(126), &json!("setup")));
    assert!(result["error"]["message"].as_str().unwrap().contains("another run of this session"));
    assert!(place.exists() && !bench.at("w/made").exists());
    first.kill();
    assert!(place.exists());
    let (output, result) = bench.done(&request("touch made"));
    assert_eq!(output.status.code(), Some(0), "{result}");
    assert!(bench.at("w/made").exists() && !place.exists());
    let mut strange = request("true");
    strange["session"] = "../s1".into();
    let (output, result) = bench.done(&strange);
    assert_eq!(
        (output.status.code(), &result["error"]["kind"]),
        (Some(126), &json!("invalid_request"))
    );
}
