//! The user as which a backend's program is queried about itself: [`SettledUser`].

use nix::unistd::{User, geteuid};

use super::RunAs;
use crate::host::program_answer::AskedAs;

/// Proof that the user has been decided as which programs of backends are started. No program of a
/// backend is started without one, and no program meant for ordinary users is started as root
/// unless the command line says so.
#[derive(Debug, Clone)]
pub struct SettledUser(UserChoice);

#[derive(Debug, Clone)]
enum UserChoice {
    /// Programs are started as the user that this process is.
    Own,
    /// Programs are started as root, even those for ordinary users.
    RootAsAsked,
    /// Programs that are for ordinary users are started as this user.
    Demoted(AskedAs),
}

impl SettledUser {
    /// The user that this process is.
    pub fn own() -> Self {
        Self(UserChoice::Own)
    }

    /// Settles on root, as the command line asked for it.
    pub fn root_as_asked() -> Self {
        Self(UserChoice::RootAsAsked)
    }

    /// Settles on `account` where this process is root's, and on the user without rights where
    /// there is none.
    pub(crate) fn demoted(account: Option<&User>) -> Self {
        Self(UserChoice::Demoted(account.map_or_else(AskedAs::without_account, AskedAs::account)))
    }

    /// Returns the user as which a program is started that is meant for `run_as`; none for this
    /// process's own user.
    ///
    /// # Errors
    /// A program meant for ordinary users, in a process of root whose command line does not say
    /// otherwise.
    pub(crate) fn start_as(&self, run_as: RunAs) -> Result<Option<&AskedAs>, String> {
        if run_as != RunAs::Ordinary || !geteuid().is_root() {
            return Ok(None);
        }
        match &self.0 {
            UserChoice::Demoted(user) => Ok(Some(user)),
            UserChoice::RootAsAsked => Ok(None),
            UserChoice::Own => {
                Err("it is meant for ordinary users, and this is root: see --user".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_meant_for_ordinary_users_is_started_as_root_unasked() {
        let root = geteuid().is_root();
        let own = SettledUser::own();
        assert_eq!(own.start_as(RunAs::Ordinary).is_err(), root);
        for run_as in [RunAs::Any, RunAs::Root] {
            assert_eq!(own.start_as(run_as), Ok(None));
            assert_eq!(SettledUser::demoted(None).start_as(run_as), Ok(None));
        }
        assert_eq!(SettledUser::root_as_asked().start_as(RunAs::Ordinary), Ok(None));
        let demoted = SettledUser::demoted(None);
        assert_eq!(demoted.start_as(RunAs::Ordinary).unwrap().is_some(), root);
    }
}
