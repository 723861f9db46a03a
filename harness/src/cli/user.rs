//! User of a run: root becomes an ordinary user before anything is made or started, if it is asked
//! to or a backend is meant for one. Main function: [`settle`].

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Uid, User, geteuid};

use super::{CliFailure, note};
use crate::backend::{RunAs, SettledUser, run_as};
use crate::sys;

/// The list of accounts, and the uids of those that are people's.
const ACCOUNTS: &str = "/etc/passwd";
const FIRST: u32 = 1000;
const LAST: u32 = 60_000;

/// Arguments of verbs that start backends.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct UserArgs {
    /// Run as this account, or as `root`. By default root runs backends that are meant for
    /// ordinary users as $SUDO_USER, else as the first ordinary account with a home.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

impl UserArgs {
    /// Returns the flag by which a reproduce line is run by the same user.
    pub(super) fn reproduce(&self) -> String {
        self.user.as_ref().map(|name| format!(" --user {name}")).unwrap_or_default()
    }

    /// Returns the settled user of a process that becomes no other.
    fn stay(&self) -> SettledUser {
        match &self.user {
            Some(_) => SettledUser::root_as_asked(),
            None => SettledUser::own(),
        }
    }

    /// Returns the account to become before `specs` are run, and the reason; none when the user
    /// stays.
    ///
    /// # Errors
    /// No such account, or no single account that can run all of `specs`.
    fn account(&self, specs: &[String]) -> Result<Option<(User, String)>, CliFailure> {
        let me = geteuid();
        if let Some(name) = &self.user {
            let account = User::from_name(name).ok().flatten();
            let account = account.ok_or_else(|| {
                CliFailure::usage(format!("--user: there is no account `{name}`"))
            })?;
            return match account.uid == me {
                true => Ok(None),
                false if me.is_root() => Ok(Some((account, "as asked".to_owned()))),
                false => Err(CliFailure::usage(format!("only root can become {name}"))),
            };
        }
        let wish = wish(specs)?;
        match wish.filter(|_| me.is_root()) {
            None => Ok(None),
            Some(spec) => {
                let account = ordinary().ok_or_else(|| CliFailure::usage(no_such_user(&spec)))?;
                Ok(Some((account, format!("since {spec} is meant for ordinary users"))))
            }
        }
    }
}

/// Becomes the user who is to run `specs`, and says so where that is not the one who typed. `first`
/// is done before that, with the rights of the one who typed. Call before any thread exists.
///
/// # Errors
/// No such account, no user that all of `specs` can be run by, or the change fails.
pub(super) fn become_run_user(
    who: &UserArgs,
    specs: &[String],
    first: impl FnOnce() -> Result<(), CliFailure>,
) -> Result<SettledUser, CliFailure> {
    let Some((account, why)) = who.account(specs)? else { return Ok(who.stay()) };
    first()?;
    let (name, uid) = (&account.name, account.uid);
    sys::become_user(&account)
        .map_err(|error| CliFailure::usage(format!("cannot become {name}: {error}")))?;
    if who.user.is_none() {
        note(format_args!("run as {name} (uid {uid}), {why}; see --user"));
    }
    Ok(SettledUser::own())
}

/// Settles the user as which a verb that runs no case queries programs of backends: as root only
/// those that are not for ordinary users, unless `user` is root.
///
/// # Errors
/// No such account.
pub(super) fn settle_questions(user: Option<&str>) -> Result<SettledUser, CliFailure> {
    let who = UserArgs { user: user.map(str::to_owned) };
    let named = user.is_some().then(|| who.account(&[])).transpose()?.flatten();
    match (named, geteuid().is_root()) {
        (_, false) => Ok(SettledUser::own()),
        (Some((account, _)), true) => Ok(SettledUser::demoted(Some(&account))),
        (None, true) if user.is_some() => Ok(SettledUser::root_as_asked()),
        (None, true) => Ok(SettledUser::demoted(ordinary().as_ref())),
    }
}

/// The first of `specs` that wants an ordinary user.
fn wish(specs: &[String]) -> Result<Option<String>, CliFailure> {
    let mut wishes = Vec::new();
    for spec in specs {
        wishes.push((spec, run_as(spec).map_err(|error| CliFailure::usage(error.to_string()))?));
    }
    let first = |wanted| wishes.iter().find(|(_, wish)| *wish == wanted).map(|(spec, _)| *spec);
    match (first(RunAs::Ordinary), first(RunAs::Root)) {
        (Some(ordinary), Some(root)) => Err(CliFailure::usage(format!(
            "{root} needs root and {ordinary} an ordinary user: run each by itself, or all of \
             them with --user root"
        ))),
        (ordinary, _) => Ok(ordinary.cloned()),
    }
}

fn no_such_user(spec: &str) -> String {
    format!(
        "{spec} is meant for ordinary users, and there is no ordinary account with a home here: \
         name one by --user, or say --user root"
    )
}

/// Finds the ordinary user: the caller of sudo, else the ordinary account with the lowest uid that
/// has a home of its own.
fn ordinary() -> Option<User> {
    let caller = std::env::var("SUDO_USER").ok().and_then(|name| User::from_name(&name).ok()?);
    let accounts = std::fs::read_to_string(ACCOUNTS).unwrap_or_default();
    let mut listed: Vec<User> = uids(&accounts)
        .filter_map(|uid| User::from_uid(Uid::from_raw(uid)).ok()?)
        .filter(|user| owns(user, &user.dir))
        .collect();
    listed.sort_by_key(|user| user.uid.as_raw());
    caller.filter(|user| !user.uid.is_root()).or_else(|| listed.into_iter().next())
}

/// The uids of people in the text of [`ACCOUNTS`].
fn uids(accounts: &str) -> impl Iterator<Item = u32> {
    let uids = accounts.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok());
    uids.filter(|uid| (FIRST..=LAST).contains(uid))
}

fn owns(user: &User, home: &Path) -> bool {
    home.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == user.uid.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn shipped_tools_are_meant_for_ordinary_users_and_ours_for_anybody() {
        let names = specs(&["reference", "reference:landlock", "none", "allow-all", "deny-all"]);
        assert_eq!(wish(&names).unwrap(), None);
        assert_eq!(wish(&specs(&["none", "bubblewrap"])).unwrap().as_deref(), Some("bubblewrap"));
        assert!(wish(&specs(&["no-such-file.yaml"])).is_err());
    }

    #[test]
    fn who_needs_root_and_who_does_not_want_it_cannot_run_together() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("jail.yaml");
        std::fs::write(&file, "{name: jail, summary: J., program: jail, argv: x, run_as: root}\n")
            .unwrap();
        let jail = file.to_str().unwrap();
        assert_eq!(wish(&specs(&["none", jail])).unwrap(), None);
        let error = wish(&specs(&[jail, "bubblewrap"])).unwrap_err();
        assert!(error.message.contains("jail.yaml needs root and bubblewrap"), "{error:?}");
    }

    #[test]
    fn people_are_told_from_services() {
        let accounts = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n\
                        eve:x:1001:1001::/home/eve:/bin/sh\nbroken\nbob:x:1000:1000::/home/bob:\n";
        assert_eq!(uids(accounts).collect::<Vec<_>>(), [1001, 1000]);
    }

    #[test]
    fn only_root_can_become_another_user() {
        let me = geteuid();
        let who = |name: &str| UserArgs { user: Some(name.to_owned()) };
        assert!(who("no such account").account(&[]).is_err());
        let root = who("root").account(&specs(&["bubblewrap"]));
        assert_eq!(root.is_ok(), me.is_root());
        assert!(!matches!(root, Ok(Some(_))));
        if !me.is_root() {
            assert!(matches!(UserArgs::default().account(&specs(&["bubblewrap"])), Ok(None)));
        }
    }
}
