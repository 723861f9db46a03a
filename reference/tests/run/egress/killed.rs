//! Nothing is left of a run with a way out, however it ends.

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, NAMESPACES, is_alive, wait_until};
use crate::egress::fixture::EgressFixture;

/// All runs, and those at once.
const RUNS: usize = 200;
const AT_ONCE: usize = 20;

/// Opens a tunnel, says so, and keeps it until its input ends.
const TUNNEL: &str = "exec 3<> /dev/tcp/127.0.0.1/3128
    printf 'CONNECT ALLOWED:PORT HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3
    read -r word code rest <&3; printf %s $code; read -r end";

#[rstest]
fn two_hundred_runs_of_which_a_third_is_killed_leave_nothing(
    #[values(NAMESPACES, BUBBLEWRAP)] mechanism: &'static str,
) {
    let fixture = EgressFixture::new(mechanism);
    let root = fixture.bed.request_file().with_file_name("");
    let line = fixture.fill(TUNNEL);
    let argv = ["bash", "-c", &line, &fixture.bed.nonce()].map(str::to_owned);
    let run = json!({"stdin": "inherit"});
    fixture.bed.write_request(&fixture.policy(), json!({"argv": argv}), &run);
    let (before, listening) = (fixture.bed.listing(), listeners());
    let mut killed = 0;
    for batch in 0..RUNS / AT_ONCE {
        let mut runs: Vec<Child> = (0..AT_ONCE).map(|_| start(&fixture)).collect();
        for run in &mut runs {
            let mut code = [0; 3];
            run.stdout.as_mut().unwrap().read_exact(&mut code).unwrap();
            assert_eq!(&code, b"200");
        }
        wait_until("every tunnel is open", || fixture.origin.open() == AT_ONCE);
        for (number, run) in runs.iter_mut().enumerate() {
            if (batch + number) % 3 == 0 {
                run.kill().unwrap();
                killed += 1;
            }
        }
        for (number, run) in runs.into_iter().enumerate() {
            let code = run.wait_with_output().unwrap().status.code();
            assert_eq!(code, if (batch + number) % 3 == 0 { None } else { Some(1) });
        }
        wait_until("every tunnel is closed", || fixture.origin.open() == 0);
    }
    println!("{mechanism}: {RUNS} runs, {killed} killed, {} tunnels", fixture.origin.connections());
    assert_eq!(fixture.origin.connections(), RUNS);
    wait_until("every process is gone", || {
        !is_alive(&fixture.bed.nonce()) && !is_alive(root.to_str().unwrap())
    });
    let results = fixture.bed.request_file().with_file_name("results");
    let left = fixture.bed.listing().into_iter().filter(|name| !name.starts_with(&results));
    assert_eq!(left.collect::<Vec<_>>(), before);
    assert_eq!(listeners(), listening);
}

fn start(fixture: &EgressFixture) -> Child {
    let results = fixture.bed.request_file().with_file_name("results");
    fs::create_dir_all(&results).unwrap();
    let mut refbox = fixture.bed.refbox_with_result(&results.join("same.json"));
    refbox.env("REFBOX_EGRESS_HOSTS", fixture.bed.out("hosts"));
    refbox.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Returns the number of sockets bound to the proxy's port outside, where it is never bound.
fn listeners() -> usize {
    let table = ["/proc/net/tcp", "/proc/net/tcp6"].map(|name| fs::read_to_string(name).unwrap());
    table.iter().flat_map(|text| text.lines()).filter(|line| line.contains(PROXY)).count()
}

/// Port 3128 in the tables' spelling, listening.
const PROXY: &str = ":0C38 ";
