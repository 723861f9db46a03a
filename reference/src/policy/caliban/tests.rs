//! The stages from the text of settings to the policy, together.

use std::path::Path;

use boxproof_cases::protocol::{
    AskBy, AskQuestion, Command, Document, EffectiveSettings, EnvBase, Mode, Network, Permission,
    Readable, Run, SettingsPlatform, SourcePrecedence, Stdin,
};
use rstest::rstest;

use super::*;

fn checked(text: &str, reading: SourcePrecedence) -> Result<ValidSettings, SettingsError> {
    let document = Document { name: "s.toml".into(), text: text.into() };
    let variables = PathVariables::new("/w", [("HOME".to_owned(), "/h".to_owned())]);
    CalibanSettings::parse(&[document]).unwrap().check(reading, &variables)
}

fn sound(text: &str, reading: SourcePrecedence) -> ValidSettings {
    checked(text, reading).unwrap()
}

fn ordered(
    text: &str,
    reading: SourcePrecedence,
    command: Command,
) -> Result<CompiledSettings, SettingsError> {
    ordered_at("/w/sub", text, reading, command)
}

fn ordered_at(
    cwd: &str,
    text: &str,
    reading: SourcePrecedence,
    command: Command,
) -> Result<CompiledSettings, SettingsError> {
    let run =
        Run { stdin: Stdin::Inherit, mechanism: "namespaces".to_owned(), ..Run::new(command, cwd) };
    let names = ["PATH", "GH_TOKEN", "MY_KEY"].map(str::to_owned);
    let stands = |path: &str| match path {
        "/missing" => None,
        "/file" => Some(false),
        _ => Some(true),
    };
    let commanded = CommandContext { run: &run, names: &names, stands: &stands };
    order(&sound(text, reading), &SandboxAvailability::Active, commanded)
}

fn files(lists: &str) -> String {
    format!("[sandbox]\nenabled = true\n[sandbox.filesystem]\n{lists}\n")
}

fn compiled(lists: &str) -> CompiledSettings {
    ordered(&files(lists), SourcePrecedence::Adr, Command::Argv(vec!["true".into()])).unwrap()
}

#[test]
fn grants_and_denies_become_those_of_the_policy() {
    let lists = "allow_read = ['/r']\nallow_write = ['/file', '${WORKSPACE}']\n\
                 deny_read = ['/w/k']\ndeny_write = ['${HOME}/d']";
    let CompiledSettings { policy, run, lenient, .. } = compiled(lists);
    assert_eq!((policy.mode, policy.workspace), (Mode::WorkspaceWrite, "/w".into()));
    assert_eq!(policy.writable, ["/file".into(), "/w".into()]);
    assert_eq!(policy.readable, Readable::Only(["/etc", "/opt", "/r"].map(Into::into).into()));
    assert_eq!((policy.deny_read, policy.deny_write), (vec!["/w/k".into()], vec!["/h/d".into()]));
    assert_eq!((policy.network, run.stdin, lenient), (Network::None {}, Stdin::Null, true));
    assert_eq!((policy.env.base, policy.env.scrub), (EnvBase::Inherit, false));
}

#[test]
fn a_grant_within_a_denial_grants_no_more_than_is_left() {
    let lists = "allow_read = ['/w/k/y']\nallow_write = ['/w', '/w/k/x', '/w/d/x']\n\
                 deny_read = ['/w/k']\ndeny_write = ['/w/d']";
    let policy = compiled(lists).policy;
    assert_eq!(policy.writable, ["/w".into()]);
    assert_eq!(policy.readable, Readable::Only(["/etc", "/opt", "/w/d/x"].map(Into::into).into()));
}

/// Settings of a network, and what is wrong with them, or is warned of.
#[rstest]
#[case::two_proxies("http_proxy_port = 1\nsocks_proxy_port = 2", Err("at most one of"))]
#[case::one_is_off("http_proxy_port = 1\nsocks_proxy_port = 0", Ok(""))]
#[case::no_list("allowed_domains = []", Ok(""))]
#[case::unkept("allowed_domains = ['a.test']", Ok("nothing of the network can be reached"))]
#[case::unkept_denial("denied_domains = ['a.test']", Ok("nothing of the network can be reached"))]
#[case::all_open(
    "denied_domains = ['a.test']\nallow_all_outbound = true",
    Err("set one of them or remove the list")
)]
#[case::kept("socks_proxy_port = 2\nallowed_domains = ['a.test', '*']", Ok(""))]
#[case::no_host("http_proxy_port = 1\ndenied_domains = ['a b']", Err("network.denied_domains: "))]
fn a_network_that_cannot_be_kept_to_is_told(#[case] keys: &str, #[case] told: Result<&str, &str>) {
    let text = format!("[sandbox.network]\n{keys}\n");
    match (checked(&text, SourcePrecedence::Adr).map(|sound| sound.warnings), told) {
        (Ok(warnings), Ok("")) => assert_eq!(warnings, [""; 0]),
        (Ok(warnings), Ok(why)) => assert!(warnings[0].contains(why), "{warnings:?}"),
        (Err(error), Err(why)) => {
            assert!(!error.is_of_the_host() && error.to_string().contains(why), "{error}");
        }
        other => panic!("{other:?}"),
    }
    // By letter a list that nothing keeps is an error.
    let by_letter = checked(&text, SourcePrecedence::Head).err();
    assert_eq!(by_letter.is_some(), told.map_or(true, |why| !why.is_empty()), "{by_letter:?}");
}

#[rstest]
#[case("bwrap_path = '/w/b'", "/w/b lies in /w, where a command can replace it")]
#[case("sandbox_exec_path = '/t/b'\n[sandbox.filesystem]\nallow_write = ['/t']", "lies in /t")]
#[case("bwrap_path = '/usr/b'", "")]
fn a_helper_that_a_command_can_replace_is_refused(#[case] keys: &str, #[case] why: &str) {
    let told = checked(&format!("[sandbox]\n{keys}\n"), SourcePrecedence::Adr).err();
    let told = told.map(|error| error.to_string()).unwrap_or_default();
    assert!(told.contains(why) && told.is_empty() == why.is_empty(), "{told}");
}

#[rstest]
#[case("allow_read = ['/r']\ndeny_read = ['/r']", "\"/r\" is in allow_read and in deny_read")]
#[case("allow_write = ['/r']\ndeny_read = ['/r']", "\"/r\" is in allow_write and in deny_read")]
#[case::read_only("allow_read = ['/r']\ndeny_write = ['/r']", "")]
#[case::others("allow_read = ['/r']\ndeny_read = ['/s']", "")]
fn what_is_granted_and_denied_is_warned_of(#[case] lists: &str, #[case] why: &str) {
    let sound = sound(&files(lists), SourcePrecedence::Adr);
    assert_eq!((sound.warnings.is_empty(), sound.is_enabled()), (why.is_empty(), true));
    assert!(sound.warnings.iter().all(|told| told.contains(why)), "{:?}", sound.warnings);
}

#[test]
fn a_name_that_no_variable_has_is_warned_of() {
    let text = "[sandbox.env]\npassthrough = ['', 'A_*', 'A']\n";
    let sound = sound(text, SourcePrecedence::Adr);
    let told: Vec<_> = sound.warnings.iter().filter_map(|told| told.split('"').nth(1)).collect();
    assert_eq!((told, sound.is_enabled()), (vec!["", "A_*"], false));
}

#[test]
fn permissions_of_one_system_open_nothing_on_another() {
    let text = "[sandbox]\nenable_weaker_nested_sandbox = true\n[sandbox.network]\n\
                socks_proxy_port = 9\nallow_local_binding = true\nallow_unix_sockets = true\n\
                allow_mach_lookup = ['m']\n";
    let valid = sound(text, SourcePrecedence::Adr);
    let linux = ExtraOpenings { nested: true, ..ExtraOpenings::default() };
    assert_eq!(valid.opens(SettingsPlatform::Linux), linux);
    let services = vec!["m".to_owned()];
    let macos =
        ExtraOpenings { proxy: Some(9), loopback: true, sockets: true, services, nested: false };
    assert_eq!(valid.opens(SettingsPlatform::Macos), macos);
    let nothing = sound("", SourcePrecedence::Adr).opens(SettingsPlatform::Macos);
    assert_eq!(nothing, ExtraOpenings::default());
}

#[test]
fn what_is_only_read_is_in_no_writable_workspace() {
    let policy = compiled("allow_read = ['/w']").policy;
    assert_eq!((policy.mode, policy.workspace), (Mode::ReadOnly, "/etc".into()));
    assert_eq!(compiled("allow_read = ['/']").policy.readable, Readable::All);
}

#[rstest]
#[case("", "grants nothing at the working directory /w/sub")]
#[case("allow_write = ['/w/su']", "grants nothing at the working directory")]
#[case("allow_read = ['/']\nallow_write = ['/file']", "is no directory")]
fn what_leaves_no_place_is_told(#[case] lists: &str, #[case] why: &str) {
    let error =
        ordered(&files(lists), SourcePrecedence::Adr, Command::Shell("true".into())).unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
}

#[rstest]
fn a_command_starts_in_a_system_directory(#[values("/", "/etc/x", "/usr")] cwd: &str) {
    let text = files("allow_write = ['/w']");
    ordered_at(cwd, &text, SourcePrecedence::Adr, Command::Shell("true".into())).unwrap();
}

#[test]
fn a_missing_grant_is_passed_over_by_letter_and_left_to_the_plan_else() {
    let text = files("allow_write = ['/missing', '/w', '/dev/null', '/dev/stdout']");
    let by = |reading| ordered(&text, reading, Command::Shell("true".into())).unwrap();
    assert_eq!(by(SourcePrecedence::Adr).policy.writable, ["/missing".into(), "/w".into()]);
    let head = by(SourcePrecedence::Head);
    assert_eq!(head.policy.writable, ["/w".into()]);
    assert!(head.notes[0].contains("\"/missing\" does not exist"), "{:?}", head.notes);
}

#[rstest]
#[case("", Network::None {})]
#[case("allow_local_binding = true", Network::None {})]
#[case("allow_all_outbound = true", Network::Host {})]
#[case("socks_proxy_port = 9", Network::Proxy { port: 9 })]
#[case::proxy_wins("http_proxy_port = 8\nallow_all_outbound = true", Network::Proxy { port: 8 })]
fn the_network_is_as_open_as_it_says(#[case] keys: &str, #[case] network: Network) {
    let text = format!("{}[sandbox.network]\n{keys}\n", files("allow_write = ['/w']"));
    let compiled = ordered(&text, SourcePrecedence::Adr, Command::Shell("true".into())).unwrap();
    assert_eq!(compiled.on_failure.is_some(), network == Network::None {});
    assert_eq!(compiled.policy.network, network);
}

#[rstest]
#[case("http_proxy_port = 8", None)]
#[case("socks_proxy_port = 9", Some("socks5h://127.0.0.1:9"))]
fn a_proxy_is_called_what_it_speaks(#[case] keys: &str, #[case] url: Option<&str>) {
    let scrubbed = "[sandbox.env]\nscrub_secrets = true\n";
    let text = format!("{}[sandbox.network]\n{keys}\n{scrubbed}", files("allow_write = ['/w']"));
    let env =
        ordered(&text, SourcePrecedence::Adr, Command::Shell("true".into())).unwrap().policy.env;
    for name in ["http_proxy", "HTTPS_PROXY", "all_proxy"] {
        assert_eq!(env.set.get(name).map(String::as_str), url, "{name}");
    }
}

#[rstest]
#[case("http_proxy_port = 8\nallowed_domains = ['a.test']", true)]
#[case("socks_proxy_port = 8\ndenied_domains = ['a.test']", true)]
#[case("http_proxy_port = 8\nallowed_domains = []", false)]
#[case("allowed_domains = ['a.test']", false)]
fn lists_are_said_to_be_the_proxys(#[case] keys: &str, #[case] said: bool) {
    let text = format!("{}[sandbox.network]\n{keys}\n", files("allow_write = ['/w']"));
    let notes = ordered(&text, SourcePrecedence::Adr, Command::Shell("true".into())).unwrap().notes;
    assert_eq!(notes.iter().any(|note| note.contains("kept by the proxy at port")), said);
}

const BYPASS: &str = "[sandbox]\nenabled = true\nallow_unsandboxed_commands = ['git']\n\
                      [sandbox.filesystem]\nallow_write = ['/w']\n\
                      [sandbox.env]\nscrub_secrets = true\npassthrough = ['GH_TOKEN']\n";

fn argv(words: &[&str]) -> Command {
    Command::Argv(words.iter().map(|word| (*word).to_owned()).collect())
}

#[rstest]
#[case(Command::Shell("git status".into()), Mode::Unconfined)]
#[case(argv(&["/bin/sh", "-c", "git status", "name"]), Mode::Unconfined)]
#[case(Command::Shell("git status; ls".into()), Mode::WorkspaceWrite)]
#[case::no_line(argv(&["git", "status"]), Mode::WorkspaceWrite)]
#[case::another_shell(argv(&["/w/sh", "-c", "git status"]), Mode::WorkspaceWrite)]
fn only_a_shell_line_is_bypassed(#[case] command: Command, #[case] mode: Mode) {
    let CompiledSettings { policy, run, .. } =
        ordered(BYPASS, SourcePrecedence::Adr, command).unwrap();
    let mechanism = if mode == Mode::Unconfined { "auto" } else { "namespaces" };
    assert_eq!((policy.mode, run.mechanism.as_str()), (mode, mechanism));
    assert_eq!(
        (policy.env.base, policy.env.scrub, policy.env.pass.join(" ").as_str()),
        (EnvBase::Clear, true, "PATH GH_TOKEN")
    );
}

#[test]
fn a_bypassed_command_keeps_its_secrets_by_letter() {
    let command = Command::Shell("git status".into());
    let env = ordered(BYPASS, SourcePrecedence::Head, command).unwrap().policy.env;
    assert_eq!((env.base, env.scrub), (EnvBase::Inherit, false));
}

/// A host with one program, which says `version` and can or cannot make namespaces.
struct Fake(&'static str, Option<&'static str>, bool);

impl HostInspector for Fake {
    fn is_program(&self, path: &Path) -> bool {
        path == Path::new(self.0)
    }
    fn version(&self, _: &Path) -> Option<Vec<u8>> {
        self.1.map(Into::into)
    }
    fn can_confine(&self, _: &Path) -> bool {
        self.2
    }
    fn own(&self) -> Option<String> {
        (self.0 != "own").then(|| "nothing confines".to_owned())
    }
}

#[rstest]
#[case("bwrap_path = '/b'", Fake("/b", Some("bubblewrap 0.8.0\n"), true), "")]
#[case("bwrap_path = '/b'", Fake("/b", None, true), "not available at /b")]
#[case("bwrap_path = '/b'", Fake("/b", Some("0.4.9"), true), "found 0.4, need >= 0.5")]
#[case("bwrap_path = '/b'", Fake("/b", Some("bubblewrap 0.8.0\n"), false), "not available at /b")]
#[case::no_other("bwrap_path = '/x'", Fake("own", Some("bubblewrap 0.8.0\n"), true), "at /x")]
#[case::own("", Fake("own", None, false), "")]
#[case::none("", Fake("/b", None, false), "sandbox backend 'bwrap' not available at bwrap")]
fn a_sandbox_is_found_or_told(#[case] key: &str, #[case] host: Fake, #[case] why: &str) {
    let found = |strict| {
        let text = format!("[sandbox]\nenabled = true\nfail_if_unavailable = {strict}\n{key}\n");
        available(&sound(&text, SourcePrecedence::Adr), SettingsPlatform::Linux, &host)
    };
    match (found(true), found(false).unwrap()) {
        (Ok(SandboxAvailability::Active), SandboxAvailability::Active) => assert_eq!(why, ""),
        (Err(error), SandboxAvailability::Missing(lax)) => {
            assert_eq!(error, lax);
            assert!(!why.is_empty() && error.to_string().contains(why), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::macos(SettingsPlatform::Macos, "", Fake("/usr/bin/sandbox-exec", None, false), "")]
#[case::named(SettingsPlatform::Macos, "sandbox_exec_path = '/s'", Fake("/s", None, false), "")]
#[case::missing(
    SettingsPlatform::Macos,
    "",
    Fake("/b", None, false),
    "sandbox backend 'sandbox-exec' not available at /usr/bin/sandbox-exec"
)]
#[case::wsl1(
    SettingsPlatform::Wsl1,
    "",
    Fake("/b", None, true),
    "sandbox not supported on platform 'wsl1'; use WSL 2, which has a Linux kernel"
)]
#[case::windows(
    SettingsPlatform::Windows,
    "",
    Fake("/b", None, true),
    "sandbox not supported on platform 'windows'"
)]
fn each_system_has_its_own_sandbox(
    #[case] platform: SettingsPlatform,
    #[case] key: &str,
    #[case] host: Fake,
    #[case] why: &str,
) {
    let text = format!("[sandbox]\nenabled = true\nfail_if_unavailable = true\n{key}\n");
    let told = available(&sound(&text, SourcePrecedence::Adr), platform, &host).err();
    assert!(told.iter().all(SettingsError::is_of_the_host));
    assert_eq!(told.map(|error| error.to_string()).unwrap_or_default(), why);
}

#[test]
fn nothing_is_looked_for_while_disabled() {
    let text = "[sandbox]\nfail_if_unavailable = true\nbwrap_path = '/none'\n";
    let found = available(
        &sound(text, SourcePrecedence::Adr),
        SettingsPlatform::Windows,
        &Fake("", None, false),
    );
    assert_eq!(found, Ok(SandboxAvailability::Disabled));
}

const ASKS: &str = "[sandbox]\nenabled = true\nauto_allow_bash_if_sandboxed = true\n\
                    allow_unsandboxed_commands = ['git']\n";

#[rstest]
#[case::held("ls", Permission::Ask, false, (Permission::Allow, AskBy::AutoAllow, true))]
#[case::allowed("ls", Permission::Allow, false, (Permission::Allow, AskBy::Rules, true))]
#[case::denied("ls", Permission::Deny, false, (Permission::Deny, AskBy::Rules, true))]
#[case::bypassed("git push", Permission::Ask, false, (Permission::Ask, AskBy::Rules, false))]
#[case::planned("ls", Permission::Allow, true, (Permission::Deny, AskBy::Plan, true))]
fn a_held_command_needs_no_question(
    #[case] command: &str,
    #[case] rules: Permission,
    #[case] plan: bool,
    #[case] wanted: (Permission, AskBy, bool),
) {
    let asked = AskQuestion { command: command.to_owned(), rules, plan };
    let sound = sound(ASKS, SourcePrecedence::Adr);
    let answer = decide(&sound, &SandboxAvailability::Active, &asked);
    assert_eq!((answer.decision, answer.by, answer.sandboxed), wanted);
    assert_eq!(answer.bypassed_by.is_some(), command.starts_with("git"));
}

#[rstest]
#[case::by_head(ASKS, SourcePrecedence::Head, SandboxAvailability::Active, true)]
#[case::not_said(
    "[sandbox]\nenabled = true\n",
    SourcePrecedence::Adr,
    SandboxAvailability::Active,
    true
)]
#[case::off(ASKS, SourcePrecedence::Adr, SandboxAvailability::Disabled, false)]
fn elsewhere_a_command_is_asked_about(
    #[case] text: &str,
    #[case] reading: SourcePrecedence,
    #[case] availability: SandboxAvailability,
    #[case] sandboxed: bool,
) {
    let asked = AskQuestion { command: "ls".to_owned(), rules: Permission::Ask, plan: false };
    let answer = decide(&sound(text, reading), &availability, &asked);
    let wanted = (Permission::Ask, AskBy::Rules, sandboxed);
    assert_eq!((answer.decision, answer.by, answer.sandboxed), wanted);
    assert!(!sound(text, reading).auto_allows(&availability));
}

/// The settings in force of `text`, with these keys of its network.
fn in_force(
    keys: &str,
    availability: &SandboxAvailability,
    on: SettingsPlatform,
) -> EffectiveSettings {
    let text = format!("{ASKS}[sandbox.network]\n{keys}\n");
    let variables = PathVariables::new("/w", [("HOME".to_owned(), "/h".to_owned())]);
    effective(&sound(&text, SourcePrecedence::Adr), availability, on, &variables, Some("s"))
}

#[rstest]
#[case("", true)]
#[case("allow_all_outbound = true", false)]
#[case("http_proxy_port = 8", false)]
#[case("socks_proxy_port = 9", false)]
fn egress_is_denied_where_nothing_opens_it(#[case] keys: &str, #[case] denied: bool) {
    let active = in_force(keys, &SandboxAvailability::Active, SettingsPlatform::Linux);
    assert_eq!((active.active, active.auto_allows, active.egress_denied), (true, true, denied));
    let off = in_force(keys, &SandboxAvailability::Disabled, SettingsPlatform::Linux);
    assert_eq!((off.active, off.auto_allows, off.egress_denied), (false, false, false));
}

#[test]
fn a_profile_has_a_place_on_macos_alone() {
    let on = |platform, availability| in_force("", availability, platform).profile_path.is_some();
    assert!(on(SettingsPlatform::Macos, &SandboxAvailability::Active));
    assert!(!on(SettingsPlatform::Macos, &SandboxAvailability::Disabled));
    assert!(!on(SettingsPlatform::Linux, &SandboxAvailability::Active));
}

#[test]
fn settings_without_effect_and_a_missing_sandbox_are_warned_of() {
    let keys = "allow_unix_sockets = true";
    let told = |availability, on| in_force(keys, availability, on).warnings;
    let idle = "network.allow_unix_sockets has no effect on Linux";
    let linux = told(&SandboxAvailability::Active, SettingsPlatform::Linux);
    assert!(linux.iter().any(|text| text == idle), "{linux:?}");
    let macos = told(&SandboxAvailability::Active, SettingsPlatform::Macos);
    assert!(macos.iter().all(|text| text != idle), "{macos:?}");
    let missing = available(
        &sound("[sandbox]\nenabled = true\n", SourcePrecedence::Adr),
        SettingsPlatform::Linux,
        &Fake("/b", None, false),
    );
    let missing = told(&missing.unwrap(), SettingsPlatform::Linux);
    assert!(missing[0].starts_with("COMMANDS RUN WITHOUT A SANDBOX: "), "{missing:?}");
}
