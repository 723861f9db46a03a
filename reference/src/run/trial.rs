//! Trials: which mechanisms work on this host, found by running a harmless command by each.

use boxproof_cases::protocol::{
    Capabilities, ClaimLevel, Command, EnvBase, EnvPolicy, Mode, PROTOCOL, Policy, Run, WirePath,
};

use crate::claims::{HOST_PROC, LIMITS, MEDIATE_LIMITS, MEDIATED, ON_MACOS, OWN_PROC, claims};
use crate::control::InitReport;
use crate::mechanism::{BY_BUBBLEWRAP, mechanism};
use crate::policy::MechanismName;
use crate::request::RunJob;

/// Checks that some mechanism confines on this host, by running a command; if not, returns the
/// reasons.
pub(crate) fn confines(prefix: &[&str]) -> Result<(), String> {
    let tried = MechanismName::AUTO.iter().map(|mechanism| trial(prefix, *mechanism, &[]));
    let tried: Vec<_> = tried.collect();
    match tried.iter().any(Result::is_ok) {
        true => Ok(()),
        false => Err(tried.into_iter().filter_map(Result::err).collect::<Vec<_>>().join("; ")),
    }
}

/// The mechanism in effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EffectiveConfinement {
    /// The mechanism.
    pub(crate) mechanism: MechanismName,
    /// Commands are shown the host's processes.
    pub(crate) shows_host: bool,
}

/// Returns the mechanism of a run here that requests `asked` or, without, any; found by running a
/// command in a box in which names that do not exist are `held`. If there is none, the reason.
pub(crate) fn effective(
    prefix: &[&str],
    asked: Option<MechanismName>,
    held: bool,
) -> Result<EffectiveConfinement, String> {
    let mut refused = Vec::new();
    for name in asked.map_or(MechanismName::AUTO.to_vec(), |asked| vec![asked]) {
        let names: &[&str] = if held && mechanism(name).mediates() { &[TRIAL_NAME] } else { &[] };
        match trial(prefix, name, names) {
            Ok(TrialResult { shows_host }) => {
                return Ok(EffectiveConfinement { mechanism: name, shows_host });
            }
            Err(why) => refused.push(why),
        }
    }
    Err(refused.join("; "))
}

/// Returns the claims that hold on this host, found by running a command in each kind of box;
/// `asked` names the one mechanism to answer for. If none works, the reason.
pub(crate) fn found(prefix: &[&str], asked: Option<MechanismName>) -> Result<Capabilities, String> {
    let tried = MechanismName::ALL.map(|mechanism| (mechanism, trial(prefix, mechanism, &[])));
    let mut limits: Vec<String> = LIMITS.map(str::to_owned).into();
    // A mechanism of another system is not missing here.
    let ours = |mechanism| (mechanism == MechanismName::Seatbelt) == ON_MACOS;
    let failed = tried.iter().filter(|(mechanism, trial)| trial.is_err() && ours(*mechanism));
    limits.extend(failed.map(|(mechanism, _)| why_not(*mechanism, &tried)));
    let works =
        |wanted: &MechanismName| tried.iter().any(|(m, trial)| m == wanted && trial.is_ok());
    let working: Vec<MechanismName> = MechanismName::ALL.into_iter().filter(works).collect();
    let chosen = match asked {
        // As a run chooses, which takes none that holds less unasked.
        None => working.iter().copied().find(|mechanism| *mechanism != MechanismName::Landlock),
        Some(asked) if works(&asked) => Some(asked),
        Some(asked) => return Err(why_not(asked, &tried)),
    };
    let further = chosen.into_iter().filter(|chosen| mechanism(*chosen).mediates());
    let further = further
        .flat_map(|_| &MEDIATE_LIMITS)
        .chain(chosen.into_iter().flat_map(|chosen| mechanism(chosen).limits()));
    limits.extend(further.map(|limit| (*limit).to_owned()));
    let mediates = chosen.filter(|chosen| mechanism(*chosen).mediates()).map(|chosen| {
        let tried = trial(prefix, chosen, &[TRIAL_NAME]);
        limits.extend(tried.as_ref().err().cloned());
        tried.is_ok()
    });
    if ON_MACOS {
        let all =
            chosen.into_iter().flat_map(claims).filter(|(_, level)| *level == ClaimLevel::Partial);
        let all: Vec<_> = all.map(|(name, _)| name).collect();
        limits.push(format!(
            "Unverified, as no run on macOS has been reported yet: {}.",
            all.join(", ")
        ));
    }
    let shows_host = tried.iter().any(|(mechanism, tried)| {
        Some(*mechanism) == chosen && tried.as_ref().is_ok_and(|tried| tried.shows_host)
    });
    limits.extend(shows_host.then(|| HOST_PROC.to_owned()));
    let kept = |name: &str| {
        (mediates != Some(false) || !MEDIATED.contains(&name)) && !(shows_host && name == OWN_PROC)
    };
    let claimed = chosen.into_iter().flat_map(claims);
    let claimed = claimed.filter(|(name, level)| *level != ClaimLevel::None && kept(name));
    // A run that requests no mechanism takes the one that its block names.
    let named = asked.is_none() && effective(prefix, Some(MechanismName::Bubblewrap), true).is_ok();
    let named = named.then_some((BY_BUBBLEWRAP, ClaimLevel::Enforced));
    let claimed =
        claimed.filter(|(name, _)| *name != BY_BUBBLEWRAP || asked.is_some()).chain(named);
    Ok(Capabilities {
        protocol: PROTOCOL,
        name: "refbox".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        claims: claimed.map(|(name, level)| (name.to_owned(), level)).collect(),
        mechanism: chosen.map_or("none", MechanismName::name).to_owned(),
        mechanisms: working.into_iter().map(|mechanism| mechanism.name().to_owned()).collect(),
        limits,
    })
}

fn why_not(
    mechanism: MechanismName,
    tried: &[(MechanismName, Result<TrialResult, String>)],
) -> String {
    let reason = tried.iter().find(|(m, _)| *m == mechanism).and_then(|(_, t)| t.as_ref().err());
    let reason = reason.map_or("unknown", String::as_str);
    format!("{} does not work here: {reason}", mechanism.name())
}

/// A directory every host has and that holds no `bwrap`: one in the workspace is not trusted.
const TRIAL_DIRECTORY: &str = "/etc";

/// A name that no host has, in a directory that a trial can write.
const TRIAL_NAME: &str = "/tmp/a name that no file has\u{1}";

/// The result of a successful trial.
#[derive(Debug, Clone, Copy)]
struct TrialResult {
    /// The command was shown the host's processes.
    shows_host: bool,
}

/// Runs a harmless command by `mechanism`, with these names denied; why that failed, if it did.
fn trial(
    prefix: &[&str],
    mechanism: MechanismName,
    denied: &[&str],
) -> Result<TrialResult, String> {
    let mode = match mechanism {
        MechanismName::Unconfined => Mode::Unconfined,
        _ => Mode::ReadOnly,
    };
    let mechanism = mechanism.name().to_owned();
    let command = Command::Argv(vec!["true".to_owned()]);
    let env = EnvPolicy { base: EnvBase::Clear, ..EnvPolicy::default() };
    let deny_write = denied.iter().map(|path| WirePath::from(*path)).collect();
    let order = RunJob {
        protocol: PROTOCOL,
        law: None,
        profile: None,
        notes: Vec::new(),
        lenient: false,
        profile_file: None,
        caller: None,
        inferred: None,
        dialect: crate::explain::advice::RuleDialect::Neutral,
        on_failure: None,
        unavailable: None,
        policy: Policy { mode, env, deny_write, ..Policy::new(TRIAL_DIRECTORY) },
        run: Run { capture: true, mechanism, ..Run::new(command, TRIAL_DIRECTORY) },
    };
    let tried = super::attempt(prefix, &order).map_err(|refusal| refusal.to_string())?;
    match (tried.refusal, tried.outcome.ended) {
        (Some(refusal), _) => Err(refusal.to_string()),
        (None, Some(InitReport::Exited(0))) => Ok(TrialResult { shows_host: tried.shows_host }),
        (None, ended) => Err(format!("a trial command ended with {ended:?}")),
    }
}
