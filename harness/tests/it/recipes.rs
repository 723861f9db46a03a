//! The shipped recipes of every backend: each renders every policy or says why it cannot,
//! and where two rules meet the denial is the last word.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail it")]

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use boxproof::backend::{
    Backend, BackendKind, LaunchContext, LaunchError, LaunchPlan, Manifest, SpawnPlan,
    shipped_names,
};
use boxproof::known::KnownFailures;
use boxproof_cases::protocol::{Command, Policy, Run, RunRequest};
use rstest::rstest;
use tempfile::TempDir;

/// The directory of the shipped manifests.
const BACKENDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/backends");

fn manifest(name: &str) -> Manifest {
    let file = Path::new(BACKENDS).join(format!("{name}.yaml"));
    Manifest::parse(&file, &std::fs::read_to_string(&file).unwrap()).unwrap()
}

/// A workspace, and directories beside it.
struct RecipeFixture {
    dir: TempDir,
}

impl RecipeFixture {
    fn new() -> Self {
        let fixture = Self { dir: tempfile::tempdir().unwrap() };
        for directory in ["w/.git", "w/conf", "extra", "open", "home", "state", "probe"] {
            std::fs::create_dir_all(fixture.at(directory)).unwrap();
        }
        std::fs::write(fixture.at("w/secret"), "s").unwrap();
        fixture
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Returns the launch of `name` under the default policy with the members that `over` (JSON)
    /// names; `@` is the fixture's directory.
    fn launch(&self, name: &str, over: &str) -> Result<SpawnPlan, LaunchError> {
        let mut policy = serde_json::to_value(Policy::new(self.at("w"))).unwrap();
        let over = over.replace('@', self.dir.path().to_str().unwrap());
        let over: serde_json::Value = serde_json::from_str(&over).unwrap();
        policy.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
        let run = Run::new(Command::Argv(vec!["true".into()]), self.at("w"));
        let policy = serde_json::from_value(policy).unwrap();
        let request = RunRequest { protocol: 1, policy, run };
        let env = [("PATH", "/bin"), ("TMPDIR", "/tmp"), ("B", "b")];
        let base_env: BTreeMap<String, String> =
            env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let ctx = LaunchContext {
            state: &self.at("state"),
            home: &self.at("home"),
            uid: 1500,
            probe: &self.at("probe/boxprobe"),
            unprotects: false,
            base_env: &base_env,
            documents: None,
            settings: None,
            request_file: &self.at("request"),
            result_file: &self.at("result"),
        };
        match backend(name).launch(&request, &ctx)? {
            LaunchPlan::Spawn(spawn) => Ok(*spawn),
            LaunchPlan::Refuse { message } => panic!("{message}"),
        }
    }

    /// Returns arguments and files of such a launch in one text, with the fixture's directory written
    /// as `@`.
    fn text(&self, name: &str, over: &str) -> String {
        let spawn = self.launch(name, over).unwrap();
        let words = spawn.argv.iter().map(|word| word.to_str().unwrap().to_owned());
        let files = spawn.files.iter().map(|(_, text)| String::from_utf8(text.clone()).unwrap());
        let all = words.chain(files).collect::<Vec<_>>().join("\n");
        all.replace(self.dir.path().to_str().unwrap(), "@")
    }
}

fn backend(name: &str) -> Backend {
    let manifest = manifest(name);
    Backend {
        name: name.into(),
        spec: name.into(),
        version: None,
        sha256: None,
        program: Some("/bin/true".into()),
        mechanism: None,
        claims: manifest.claims.levels(),
        evidence: manifest.claims.evidence(),
        asked: manifest.asked.clone(),
        limits: Vec::new(),
        kind: BackendKind::Argv(Box::new(manifest)),
        known: KnownFailures::default(),
        missing: None,
    }
}

/// The policies that cases ask for, one of each kind.
const POLICIES: &[&str] = &[
    "{}",
    r#"{"mode": "read_only"}"#,
    r#"{"mode": "unconfined"}"#,
    r#"{"readable": ["@/open"]}"#,
    r#"{"writable": ["@/extra"]}"#,
    r#"{"writable": ["@/none"]}"#,
    r#"{"deny_read": ["@/w/secret", "@/w/conf"]}"#,
    r#"{"deny_read": ["@/w/none"]}"#,
    r#"{"deny_write": ["@/w/conf"]}"#,
    r#"{"protect": "metadata"}"#,
    r#"{"protect": "metadata", "grants": ["git_config_write"]}"#,
    r#"{"tmp": "host"}"#,
    r#"{"tmp": "none"}"#,
    r#"{"network": {"host": {}}}"#,
    r#"{"network": {"proxy": {"port": 3128}}}"#,
    r#"{"network": {"domains": {"allow": ["a.example"], "deny": []}}}"#,
    r#"{"unix_sockets": ["@/s"]}"#,
    r#"{"env": {"base": "clear", "scrub": true, "pass": ["PATH"], "set": {"B": "x \"y\""}}}"#,
    r#"{"env": {"base": "inherit", "scrub": false, "pass": [], "set": {"B": "x"}}}"#,
];

#[test]
fn every_recipe_renders_every_policy_or_says_why_not() {
    let fixture = RecipeFixture::new();
    let recipes = shipped_names().into_iter().filter(|n| manifest(n).is_rendered());
    let mut rendered = BTreeMap::new();
    for name in recipes {
        for over in POLICIES {
            match fixture.launch(name, over) {
                Ok(_) => *rendered.entry(name).or_insert(0) += 1,
                Err(LaunchError::Inexpressible(reason)) => assert!(reason.len() > 10, "{name}"),
                Err(fault) => panic!("{name}, {over}: {fault}"),
            }
        }
    }
    assert!(rendered.len() > 10 && rendered.values().all(|count| *count > 2), "{rendered:?}");
}

/// Protection beyond a recipe is not asked of it: a protected name that is a link of some kind, or
/// one that the backend protects under every policy.
#[rstest]
#[case::text_from_the_root("bubblewrap", Some("/conf"), "metadata", false)]
#[case::relative_text("bubblewrap", Some("conf"), "metadata", true)]
#[case::relative_text_declined("codex", Some("conf"), "metadata", false)]
#[case::no_link("codex", None, "metadata", true)]
#[case::not_protected("codex", Some("conf"), "none", true)]
#[case::a_name_of_its_own("srt", None, "none", false)]
#[case::protected_as_well("srt", None, "metadata", true)]
fn names_that_cannot_be_protected_or_let_be_are_inexpressible(
    #[case] name: &str,
    #[case] link: Option<&str>,
    #[case] protect: &str,
    #[case] said: bool,
) {
    let fixture = RecipeFixture::new();
    match link {
        Some("/conf") => symlink(fixture.at("w/conf"), fixture.at("w/.idea")).unwrap(),
        Some(text) => symlink(text, fixture.at("w/.idea")).unwrap(),
        None => std::fs::create_dir(fixture.at("w/.idea")).unwrap(),
    }
    let launched = fixture.launch(name, &format!(r#"{{"protect": "{protect}"}}"#));
    assert_eq!(launched.is_ok(), said, "{launched:?}");
    assert!(said || matches!(launched, Err(LaunchError::Inexpressible(_))), "{launched:?}");
}

#[rstest]
#[case("hozo", r#""@/w", mode: rw"#, r#""@/w/.git", mode: ro"#)]
#[case("agent-nook", r#""@/w", type: bind"#, r#""@/w/.git", type: ro-bind"#)]
#[case("buddelkiste", "target = \"@/w\"\nmode = \"rw\"", "target = \"@/w/.git\"\nmode = \"ro\"")]
#[case("hakoniwa", "-B\n@/w:@/w", "-b\n@/w/.git:@/w/.git")]
fn what_is_protected_comes_after_what_is_granted(
    #[case] name: &str,
    #[case] grant: &str,
    #[case] denial: &str,
) {
    let text = RecipeFixture::new().text(name, r#"{"protect": "metadata"}"#);
    let (grant, denial) = (text.find(grant), text.find(denial));
    assert!(grant.is_some() && denial.is_some() && grant < denial, "{text}");
}

/// These keep one mount a place, so that the denial must be the only one.
#[rstest]
#[case("buddelkiste", "target = \"@/extra\"", "source = \"@/state/nothing\"")]
#[case("hakoniwa", ":@/extra", "-b\n@/state/nothing:@/extra")]
fn of_a_grant_and_a_denial_of_one_path_the_denial_is_written(
    #[case] name: &str,
    #[case] place: &str,
    #[case] denial: &str,
) {
    let text =
        RecipeFixture::new().text(name, r#"{"writable": ["@/extra"], "deny_read": ["@/extra"]}"#);
    assert_eq!(text.matches(place).count(), 1, "{text}");
    assert!(text.contains(denial), "{text}");
}

#[rstest]
#[case("bww", "{}", true)]
#[case("hozo", "{}", false)]
#[case("hozo", r#"{"readable": ["@/open"]}"#, true)]
#[case("bubblewrap", "{}", false)]
#[case("sandlock", r#"{"readable": ["@/open"]}"#, false)]
fn a_view_without_what_is_not_granted_is_told(
    #[case] name: &str,
    #[case] over: &str,
    #[case] hides: bool,
) {
    assert_eq!(RecipeFixture::new().launch(name, over).unwrap().besides.contains(&"ENOENT"), hides);
}

#[rstest]
#[case("zerobox", true)]
#[case("codex", true)]
#[case("srt", true)]
#[case("bubblewrap", false)]
fn placeholders_for_absent_names_are_told(#[case] name: &str, #[case] stands_in: bool) {
    assert_eq!(
        RecipeFixture::new().launch(name, "{}").unwrap().besides.contains(&"EEXIST"),
        stands_in
    );
}

#[rstest]
#[case("hozo")]
#[case("buddelkiste")]
#[case("hakoniwa")]
#[case("sandlock")]
#[case("nono")]
fn the_probe_can_be_read_where_little_can(#[case] name: &str) {
    let text = RecipeFixture::new().text(name, r#"{"readable": ["@/open"]}"#);
    assert!(text.contains("@/probe") && text.contains("@/open"), "{text}");
}
