//! The mechanisms that a request can name ([`MechanismName`]), known on every system.

/// The mechanism name that leaves the choice to us.
pub(crate) const AUTO: &str = "auto";

/// One way to carry out a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MechanismName {
    /// Namespaces, made by this process and the kernel alone.
    Namespaces,
    /// The program `bwrap`.
    Bubblewrap,
    /// Landlock alone, where namespaces are refused; it enforces less.
    Landlock,
    /// The program `sandbox-exec` of macOS.
    Seatbelt,
    /// No confinement.
    Unconfined,
}

impl MechanismName {
    /// Every mechanism, the preferred first.
    pub(crate) const ALL: [Self; 5] =
        [Self::Namespaces, Self::Bubblewrap, Self::Landlock, Self::Seatbelt, Self::Unconfined];
    /// The mechanisms that `auto` tries, the preferred first: a weaker one has to be requested by
    /// name.
    pub(crate) const AUTO: &[Self] = match cfg!(target_os = "macos") {
        true => &[Self::Seatbelt],
        false => &[Self::Namespaces, Self::Bubblewrap],
    };

    /// The name in requests and results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
            Self::Unconfined => "unconfined",
        }
    }

    /// The mechanism of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mechanism_is_found_by_its_name_alone() {
        for mechanism in MechanismName::ALL {
            assert_eq!(MechanismName::named(mechanism.name()), Some(mechanism));
        }
        assert_eq!(MechanismName::Landlock.name(), "landlock");
        assert_eq!(MechanismName::named(""), None);
        assert_eq!(MechanismName::named(AUTO), None);
    }
}
