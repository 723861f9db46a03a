//! The mechanisms that a request can name ([`Mechanism`]), known on every system.

/// One way to carry out a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// By this process and the kernel alone.
    Namespaces,
    /// By the program `bwrap`.
    Bubblewrap,
    /// By Landlock alone, where namespaces are refused; it holds less.
    Landlock,
    /// By the program `sandbox-exec` of macOS.
    Seatbelt,
    /// Not at all.
    Unconfined,
}

impl Mechanism {
    /// Every mechanism, the preferred first.
    pub(crate) const ALL: [Self; 5] =
        [Self::Namespaces, Self::Bubblewrap, Self::Landlock, Self::Seatbelt, Self::Unconfined];
    /// Those that `auto` tries, the preferred first: what holds less has to be asked for by name.
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
