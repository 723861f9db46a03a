//! The shipped manifests: they load, their schema is fresh, and they render what they should.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail it")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use boxproof::backend::{
    Backend, BackendClaims, BackendKind, LaunchContext, LaunchError, LaunchPlan, MANIFEST_SCHEMA,
    Manifest, SpawnPlan, schema, shipped_names,
};
use boxproof::known::{self, KNOWN_SCHEMA, KnownFailures};
use boxproof::project::{PROJECT_SCHEMA, ProjectFile};
use boxproof_cases::protocol::{
    ClaimLevel, Command, EnvBase, Mode, Network, Policy, Protect, Run, RunRequest, TmpPolicy,
};
use rstest::rstest;
use tempfile::TempDir;

/// The directory of the shipped manifests.
const BACKENDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/backends");

fn manifest(name: &str) -> Manifest {
    let file = Path::new(BACKENDS).join(format!("{name}.yaml"));
    Manifest::parse(&file, &std::fs::read_to_string(&file).unwrap()).unwrap()
}

/// A workspace with a few things in it, and the policies about them.
struct PolicyFixture {
    dir: TempDir,
}

impl PolicyFixture {
    fn new() -> Self {
        let fixture = Self { dir: tempfile::tempdir().unwrap() };
        for directory in ["w/.git", "w/.claude", "w/conf/deep", "extra", "tmp", "state"] {
            std::fs::create_dir_all(fixture.at(directory)).unwrap();
        }
        std::fs::create_dir(fixture.at("dangling")).unwrap();
        symlink("nowhere", fixture.at("dangling/.bashrc")).unwrap();
        std::fs::write(fixture.at("w/secret"), "s").unwrap();
        std::fs::write(fixture.at("w/conf/deep/key"), "k").unwrap();
        fixture
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::new(self.at("w"));
        policy.env.base = EnvBase::Clear;
        policy.env.set = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        policy
    }

    /// Returns the launch of bubblewrap for `argv` under the edited default policy, as `uid`.
    fn launch(
        &self,
        uid: u32,
        argv: &[&str],
        edit: impl FnOnce(&mut RunRequest),
    ) -> Result<SpawnPlan, LaunchError> {
        self.launch_by(manifest("bubblewrap"), uid, argv, edit)
    }

    fn launch_by(
        &self,
        manifest: Manifest,
        uid: u32,
        argv: &[&str],
        edit: impl FnOnce(&mut RunRequest),
    ) -> Result<SpawnPlan, LaunchError> {
        let backend = Backend {
            name: "bubblewrap".into(),
            spec: "bubblewrap".into(),
            version: None,
            sha256: None,
            program: Some("/bin/bwrap".into()),
            mechanism: None,
            claims: manifest.claims.levels(),
            evidence: BTreeMap::new(),
            asked: manifest.asked.clone(),
            limits: Vec::new(),
            kind: BackendKind::Argv(Box::new(manifest)),
            known: KnownFailures::default(),
            missing: None,
        };
        let command = Command::Argv(argv.iter().map(|argument| (*argument).to_owned()).collect());
        let run = Run::new(command, self.at("w"));
        let mut request = RunRequest { protocol: 1, policy: self.policy(), run };
        edit(&mut request);
        let base_env = BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]);
        let files = (self.at("request"), self.at("result"));
        let ctx = LaunchContext {
            state: &self.at("state"),
            home: &self.at("home"),
            uid,
            probe: &self.at("probe"),
            unprotects: false,
            base_env: &base_env,
            documents: None,
            settings: None,
            request_file: &files.0,
            result_file: &files.1,
        };
        match backend.launch(&request, &ctx)? {
            LaunchPlan::Spawn(spawn) => Ok(*spawn),
            LaunchPlan::Refuse { message } => panic!("{message}"),
        }
    }

    /// Replaces the members of policy and run that `over` (JSON) names; `@` is the fixture's
    /// directory.
    fn overlay(&self, request: &mut RunRequest, over: &str) {
        let over = over.replace('@', self.dir.path().to_str().unwrap());
        let over: serde_json::Value = serde_json::from_str(&over).unwrap();
        let mut whole = serde_json::to_value(&*request).unwrap();
        for (part, members) in over.as_object().unwrap() {
            let part = whole[part].as_object_mut().unwrap();
            part.extend(members.as_object().unwrap().clone());
        }
        *request = serde_json::from_value(whole).unwrap();
    }

    /// Returns the arguments in one line, with the fixture's directory written as `@`.
    fn line(&self, uid: u32, edit: impl FnOnce(&mut RunRequest)) -> String {
        let spawn = self.launch(uid, &["true"], edit).unwrap();
        let words = spawn.argv.iter().map(|word| word.to_str().unwrap());
        let line = words.collect::<Vec<_>>().join(" ");
        line.replace(self.dir.path().to_str().unwrap(), "@")
    }
}

const HEAD: &str = "/bin/bwrap --ro-bind / / --dev /dev --proc /proc";
const AS_ROOT: &str = " --ro-bind /proc/sys /proc/sys --cap-drop ALL";
const TAIL: &str = " --die-with-parent --new-session --clearenv --setenv A 1 --chdir @/w -- true";

#[rstest]
#[case::ordinary(1500, "")]
#[case::root(0, AS_ROOT)]
fn bubblewrap_renders_the_default_policy(#[case] uid: u32, #[case] as_root: &str) {
    let line = PolicyFixture::new().line(uid, |_| ());
    assert_eq!(
        line,
        format!("{HEAD}{as_root} --perms 1777 --tmpfs /tmp --bind @/w @/w --unshare-all{TAIL}")
    );
}

#[test]
fn bubblewrap_renders_every_rule_in_an_order_in_which_denials_win() {
    let fixture = PolicyFixture::new();
    let line = fixture.line(1500, |request| {
        let policy = &mut request.policy;
        policy.writable = vec![fixture.at("extra").into()];
        policy.deny_write = vec![fixture.at("w/conf").into()];
        policy.deny_read =
            ["w/conf", "w/conf/deep/key", "w/secret"].map(|p| fixture.at(p).into()).into();
        policy.protect = Protect::Metadata;
        policy.network = Network::Host {};
    });
    let masks = "--ro-bind /dev/null @/w/secret --ro-bind /dev/null @/w/conf/deep/key \
                 --perms 0000 --tmpfs @/w/conf --remount-ro @/w/conf";
    let protected = "--ro-bind @/w/.claude @/w/.claude --ro-bind @/w/.git @/w/.git";
    let middle = format!(
        "--perms 1777 --tmpfs /tmp --bind @/extra @/extra --bind @/w @/w {protected} --ro-bind @/w/conf @/w/conf \
         {masks} --unshare-all --share-net"
    );
    assert_eq!(line, format!("{HEAD} {middle}{TAIL}"));
}

#[rstest]
#[case(TmpPolicy::Private, "--perms 1777 --tmpfs /tmp --perms 1777 --tmpfs @/tmp ")]
#[case(TmpPolicy::Host, "--bind /tmp /tmp --bind @/tmp @/tmp ")]
#[case(TmpPolicy::None, "")]
fn the_temp_directory_is_where_the_command_looks_for_it(
    #[case] tmp: TmpPolicy,
    #[case] args: &str,
) {
    let fixture = PolicyFixture::new();
    let line = fixture.line(1500, |request| {
        request.policy.tmp = tmp;
        request.policy.mode = Mode::ReadOnly;
        let tmpdir = fixture.at("tmp").into_os_string().into_string().unwrap();
        request.policy.env.set = BTreeMap::from([("TMPDIR".to_owned(), tmpdir)]);
    });
    assert!(line.starts_with(&format!("{HEAD} {args}--unshare-all ")), "{line}");
    assert!(line.contains(" --clearenv --setenv TMPDIR @/tmp --chdir "), "{line}");
}

#[test]
fn a_git_grant_leaves_git_writable_and_nothing_else() {
    let line = PolicyFixture::new().line(1500, |request| {
        request.policy.protect = Protect::Metadata;
        request.policy.grants = vec!["git_config_write".to_owned()];
    });
    assert!(line.contains("--ro-bind @/w/.claude @/w/.claude"), "{line}");
    assert!(!line.contains(".git"), "{line}");
}

#[test]
fn arguments_and_variables_reach_the_program_byte_for_byte() {
    let odd = ["", "a\nb\n", "  blank ", "ünï", "--", "{{ uid }}", "\u{1}v", "\t"];
    let argv: Vec<&str> = ["prog"].into_iter().chain(odd).collect();
    let spawn = PolicyFixture::new().launch(1500, &argv, |request| {
        let set = odd.iter().enumerate().map(|(at, value)| (format!("V{at}"), (*value).to_owned()));
        request.policy.env.set = set.collect();
    });
    let spawn = spawn.unwrap();
    assert_eq!(spawn.argv[spawn.argv.len() - argv.len()..], argv);
    for (at, value) in odd.iter().enumerate() {
        let name = format!("V{at}");
        let place = spawn.argv.iter().position(|word| word == OsStr::new(&name)).unwrap();
        assert_eq!(spawn.argv[place + 1], *value);
    }
    assert_eq!(spawn.env["PATH"], "/bin", "bubblewrap itself has the launcher's environment");
}

#[rstest]
#[case("without a sandbox", r#"{"policy": {"mode": "unconfined"}}"#)]
#[case("readable roots", r#"{"policy": {"readable": ["@/w"]}}"#)]
#[case("no ports", r#"{"policy": {"network": {"proxy": {"port": 1}}}}"#)]
#[case("no domains", r#"{"policy": {"network": {"domains": {}}}}"#)]
#[case("abstract socket", r#"{"policy": {"unix_sockets": ["/s", "\u0040name"]}}"#)]
#[case("deny_write path", r#"{"policy": {"deny_write": ["@/w/absent"]}}"#)]
#[case("deny_read path", r#"{"policy": {"deny_read": ["@/w/absent"]}}"#)]
#[case("no pattern", r#"{"policy": {"deny_write_globs": ["/w/*.env"]}}"#)]
#[case("no pattern", r#"{"policy": {"deny_read_globs": ["/w/*.env"]}}"#)]
#[case("writable root", r#"{"policy": {"writable": ["@/absent"]}}"#)]
#[case("names none", r#"{"policy": {"protect": "metadata", "grants": ["other"]}}"#)]
#[case("leads nowhere", r#"{"policy": {"protect": "metadata", "workspace": "@/dangling"}}"#)]
#[case("time limit", r#"{"run": {"timeout_ms": 1}}"#)]
#[case("not UTF-8", r#"{"policy": {"deny_read": [{"b64": "L/8="}]}}"#)]
#[case("not UTF-8", r#"{"run": {"cwd": {"b64": "L/8="}}}"#)]
fn what_bubblewrap_cannot_say_is_inexpressible(#[case] reason: &str, #[case] over: &str) {
    let fixture = PolicyFixture::new();
    match fixture.launch(1500, &["true"], |request| fixture.overlay(request, over)) {
        Err(LaunchError::Inexpressible(why)) => assert!(why.contains(reason), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case(r#"{"policy": {"unix_sockets": ["/s"]}}"#)]
#[case(r#"{"policy": {"unix_sockets": ["\u0040name"], "network": {"host": {}}}}"#)]
#[case(r#"{"policy": {"grants": ["other"]}}"#)]
#[case(r#"{"policy": {"deny_write": ["@/w/secret"], "deny_read": ["@/w/conf"]}}"#)]
#[case(r#"{"policy": {"workspace": "@/dangling"}}"#)]
fn what_bubblewrap_can_say_is_not(#[case] over: &str) {
    let fixture = PolicyFixture::new();
    let spawn = fixture.launch(1500, &["true"], |request| fixture.overlay(request, over));
    assert!(spawn.is_ok(), "{spawn:?}");
}

#[test]
fn every_shipped_manifest_loads_and_is_named_like_its_file() {
    // Files beside them are lists that verbs go by, and known failures.
    let lists = ["plain.yaml", "versions.yaml"];
    let files = std::fs::read_dir(BACKENDS).unwrap().map(|file| file.unwrap().file_name());
    let files: BTreeSet<String> = files.map(|name| name.into_string().unwrap()).collect();
    let manifests = files.iter().filter(|name| {
        name.ends_with(".yaml") && !name.ends_with(".known.yaml") && !lists.contains(&name.as_str())
    });
    let named: BTreeSet<String> =
        shipped_names().iter().map(|name| format!("{name}.yaml")).collect();
    assert!(manifests.eq(&named), "{named:?}");
    for name in shipped_names() {
        assert_eq!(manifest(name).name, name);
    }
}

#[test]
fn every_claim_of_a_shipped_manifest_says_how_it_is_known() {
    for name in shipped_names() {
        let manifest = manifest(name);
        let BackendClaims::Each(claims) = &manifest.claims else { continue };
        for (capability, claim) in claims {
            let told = claim.level == ClaimLevel::None || claim.evidence.is_some();
            assert!(told, "{name}: {capability}");
        }
    }
}

#[test]
fn the_checked_in_schemas_are_fresh() {
    for (place, fresh) in [
        (MANIFEST_SCHEMA, schema()),
        (KNOWN_SCHEMA, known::schema()),
        (PROJECT_SCHEMA, ProjectFile::schema()),
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(place);
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&file, &fresh).unwrap();
        }
        let checked_in = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(checked_in == fresh, "{} is stale: run with UPDATE_SCHEMAS=1", file.display());
    }
}

#[test]
fn each_shipped_file_names_its_schema_for_editors() {
    let line = |place| boxproof_cases::schema::editor_line(place);
    for entry in std::fs::read_dir(BACKENDS).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        // Lists of the program's own have no schema.
        if !name.ends_with(".yaml") || ["plain.yaml", "versions.yaml"].contains(&name) {
            continue;
        }
        let is_list = name.ends_with(".known.yaml");
        let first = line(if is_list { KNOWN_SCHEMA } else { MANIFEST_SCHEMA });
        assert!(std::fs::read_to_string(&file).unwrap().starts_with(&first), "{name}: {first}");
    }
}

/// The YAML blocks of the guide.
fn examples() -> Vec<String> {
    let guide = std::fs::read_to_string(Path::new(BACKENDS).join("README.md")).unwrap();
    let blocks = guide.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(str::to_owned).collect()
}

#[test]
fn the_guides_example_is_short_and_renders() {
    let text = &examples()[0];
    assert!(text.lines().count() < 55, "{}", text.lines().count());
    let manifest = Manifest::parse(Path::new("jail.yaml"), text).unwrap();
    assert_eq!(manifest.unsaid.notes("jail.yaml"), [""; 0]);
    let spawn = PolicyFixture::new().launch_by(manifest, 1500, &["true"], |_| ()).unwrap();
    let words: Vec<&str> = spawn.argv.iter().map(|word| word.to_str().unwrap()).collect();
    assert!(
        words.join(" ").ends_with(
            "--unshare-pid --die-with-parent --new-session --clearenv --setenv A 1 -- true"
        ),
        "{words:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_guides_example_holds_writes_on_plain_bubblewrap() {
    let place = crate::support::Place::new();
    place.write("jail.yaml", &examples()[0]);
    let (spec, scratch, record) =
        (place.arg("jail.yaml"), place.arg("scratch"), place.arg("record.ndjson"));
    let args = ["run", "fs/write-outside/*", "--backend", &spec, "--scratch", &scratch];
    let args = [&args[..], &["--report", &record], crate::support::as_we_are()].concat();
    place.run(&args).exits(0);
    let rows = place.record("record.ndjson");
    let rows: Vec<_> = rows.iter().filter(|row| row["type"] == "case").collect();
    assert!(rows.iter().all(|row| row["verdict"] == "pass" && row["twin"] == "shown"), "{rows:#?}");
    assert!(rows.len() > 3, "{rows:#?}");
}

#[test]
fn no_shipped_manifest_leaves_a_member_unsaid() {
    for name in shipped_names() {
        assert_eq!(manifest(name).unsaid.notes(name), [""; 0]);
    }
}

/// The manifest of a jail with `argv`, and `more` members.
fn jail(argv: &str, more: &str) -> String {
    let argv: String = argv.lines().map(|word| format!("  {word}\n")).collect();
    format!(
        "name: jail\nsummary: J.\nprogram: env\nclaims: all\n{more}argv: |\n{argv}  {{{{ command }}}}\n"
    )
}

#[rstest]
#[case::member(
    "--w={{policy.writeable}}",
    "",
    "jail.yaml:6: argv: there is no `policy.writeable`: did you mean `policy.writable`?"
)]
#[case::tested("{% if policy.mod is defined %}x{% endif %}", "", "did you mean `policy.mode`?")]
#[case::in_a_rule(
    "-x",
    "inexpressible:\n  - when: policy.grants\n    reason: a\n  - when: policy.netwrk\n    reason: b\n",
    "jail.yaml:8: inexpressible: there is no `policy.netwrk`: did you mean `policy.network`?"
)]
#[case::under_a_policy(
    "{{policy.readable[0][9].x}}",
    "",
    "jail.yaml:6: argv: line 1 of the template"
)]
#[case::shape("{{policy.network.proxy.port}}", "", "undefined")]
fn a_misspelt_member_is_told_with_its_line(
    #[case] argv: &str,
    #[case] more: &str,
    #[case] says: &str,
) {
    let error = Manifest::parse(Path::new("jail.yaml"), &jail(argv, more)).unwrap_err().to_string();
    assert!(error.starts_with("jail.yaml:") && error.contains(says), "{error}");
}

#[test]
fn what_no_template_reads_is_told_once_and_inexpressible() {
    let reads = "inexpressible: [{when: policy.deny_read or policy.deny_write or policy.deny_read_globs or policy.deny_write_globs or policy.unix_sockets or policy.env.set or policy.env.base != 'inherit' or policy.env.scrub_values or timeout_ms is not none or policy.readable != 'all' or policy.tmp != 'private' or policy.protect != 'none', reason: r}]\n";
    let text = jail(
        "{{ policy.mode }}\n{% if policy.network.host is defined %}\n--net\n{% endif %}",
        reads,
    );
    let manifest = Manifest::parse(Path::new("jail.yaml"), &text).unwrap();
    let remedy = "render it or say `inexpressible`; cases that turn on it are unsupported";
    let told = [
        format!("jail.yaml never reads policy.writable: {remedy}"),
        format!(
            "jail.yaml renders policy.network: proxy like the default, policy.network: domains like the default: {remedy}"
        ),
    ];
    assert_eq!(manifest.unsaid.notes("jail.yaml"), told);
    let fixture = PolicyFixture::new();
    let launch = |over: &str| {
        let edit = |request: &mut RunRequest| {
            request.policy.env = Policy::new("/").env;
            fixture.overlay(request, over);
        };
        fixture.launch_by(manifest.clone(), 1500, &["true"], edit)
    };
    let refused = |why: &str| Err(LaunchError::Inexpressible(why.to_owned()));
    assert_eq!(
        launch(r#"{"policy": {"writable": ["@/extra"]}}"#),
        refused("the manifest never reads policy.writable")
    );
    assert_eq!(
        launch(r#"{"policy": {"network": {"domains": {}}}}"#),
        refused("the manifest renders policy.network: domains like the default")
    );
    assert!(launch(r#"{"policy": {"network": {"host": {}}}}"#).is_ok());
}

#[test]
fn the_guides_known_failures_load() {
    let known = KnownFailures::parse(Path::new("jail.known.yaml"), &examples()[1], "jail").unwrap();
    assert_eq!(known.rows().len(), 1);
}

#[test]
fn the_guide_tells_every_field() {
    let guide = std::fs::read_to_string(Path::new(BACKENDS).join("README.md")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    for field in schema["properties"].as_object().unwrap().keys() {
        assert!(guide.contains(&format!("`{field}`")), "{field}");
    }
}

/// Faults of the shipped manifest of a channel after a change of its text.
#[rstest]
#[case::missing("  relay: |", "  relay_: |", "unknown field `relay_`")]
#[case::none("receipts:\n", "unknown:\n", "unknown field `unknown`")]
#[case::unknown_key("  public_key:", "  publickey:", "unknown field `publickey`")]
#[case::unknown_variable("{{ cert_key }}", "{{ cert_keys }}", "cert_keys")]
fn a_channel_that_is_not_whole_is_told(#[case] from: &str, #[case] to: &str, #[case] says: &str) {
    let shipped = boxproof::backend::shipped_text("receipts-reference").unwrap();
    let text = shipped.replacen(from, to, 1);
    assert_ne!(text, shipped);
    let error = Manifest::parse(Path::new("channel.yaml"), &text).unwrap_err().to_string();
    assert!(error.contains("channel.yaml") && error.contains(says), "{error}");
}

#[rstest]
#[case("daemon: d\n  relay: r\n  proxy: ' '\n  export: e", "", "receipts.proxy")]
#[case("daemon: d\n  relay: r\n  export: e", "", "missing field `proxy`")]
#[case(
    "daemon: d\n  relay: r\n  proxy: p\n  export: e",
    "claims: {receipts.verify: enforced}",
    "do not claim it"
)]
fn every_part_of_a_channel_is_called(#[case] parts: &str, #[case] more: &str, #[case] says: &str) {
    let text =
        format!("name: c\nsummary: s\nkind: receipts\nprogram: p\nreceipts:\n  {parts}\n{more}\n");
    let error = Manifest::parse(Path::new("channel.yaml"), &text).unwrap_err().to_string();
    assert!(error.contains("channel.yaml") && error.contains(says), "{error}");
}
