//! The subcommands of git, as data: which change a repository and are granted, which only look, and
//! which never are granted by inference.

use super::options::OptionTable;

/// The kind of a subcommand.
#[derive(Debug, Clone, Copy)]
pub(super) enum SubcommandKind {
    /// It changes a repository, and is granted with any options.
    Granted,
    /// It changes a repository, and is granted with these options.
    GrantedWith(OptionTable),
    /// It changes a repository, and is granted with these options if its first operand (or the empty
    /// text without one) is among `verbs`; it only reads if that is among `looks`.
    GrantedAs {
        verbs: &'static [&'static str],
        options: OptionTable,
        looks: &'static [&'static str],
    },
    /// It only reads, unless an option names a file to write or a program to run.
    Looks,
    /// It does no harm with these options.
    Beside(OptionTable),
    /// It does no harm if its first operand is one of these.
    BesideAs(&'static [&'static str]),
    /// It does more than a repository's history takes.
    Never(&'static str),
}

const fn with(flags: &'static str, valued: &'static str) -> SubcommandKind {
    SubcommandKind::GrantedWith(OptionTable { flags, valued })
}

const CONFIGURES: &str = "it writes git's configuration, which takes git_config_write";
const MAKES: &str = "it makes a repository, which takes git_config_write";

/// Forms that discard work: `subcommand option`. They are in no table of options, so that their
/// reason is clearer.
pub(super) const DESTROYS: &[(&str, &str)] = &[
    ("reset", "--hard"),
    ("reset", "--merge"),
    ("clean", "-f"),
    ("clean", "--force"),
    ("push", "-f"),
    ("push", "--force"),
    ("push", "--force-with-lease"),
    ("push", "--mirror"),
    ("push", "--delete"),
    ("push", "-d"),
    ("push", "--prune"),
    ("fetch", "-f"),
    ("fetch", "--force"),
    ("fetch", "-p"),
    ("fetch", "--prune"),
    ("fetch", "--prune-tags"),
    ("pull", "-f"),
    ("pull", "--force"),
    ("pull", "-p"),
    ("pull", "--prune"),
    ("checkout", "-f"),
    ("checkout", "--force"),
    ("checkout", "-B"),
    ("switch", "-f"),
    ("switch", "--force"),
    ("switch", "--discard-changes"),
    ("switch", "-C"),
    ("branch", "-f"),
    ("branch", "--force"),
    ("stash", "drop"),
    ("stash", "clear"),
    ("tag", "-f"),
];

/// Forms that write configuration, and leave something half done where they cannot.
pub(super) const SETS: &[(&str, &str)] = &[
    ("branch", "-m"),
    ("branch", "-M"),
    ("branch", "-c"),
    ("branch", "--move"),
    ("branch", "--copy"),
    ("branch", "-u"),
    ("branch", "--set-upstream-to"),
    ("branch", "--unset-upstream"),
    ("branch", "--edit-description"),
    ("branch", "-t"),
    ("branch", "--track"),
    ("checkout", "-t"),
    ("checkout", "--track"),
    ("switch", "-t"),
    ("switch", "--track"),
    ("push", "-u"),
    ("push", "--set-upstream"),
    ("fetch", "--set-upstream"),
    ("pull", "--set-upstream"),
];

/// Options of subcommands that apply commits anew.
const PICKS: &str = "e edit no-edit n no-commit x s signoff no-signoff ff allow-empty \
    allow-empty-message keep-redundant-commits no-gpg-sign abort continue quit skip reference \
    rerere-autoupdate no-rerere-autoupdate";
const PICKS_BY: &str = "m mainline strategy X strategy-option cleanup empty";

/// Every subcommand that is known.
pub(super) const SUBCOMMANDS: &[(&str, SubcommandKind)] = &[
    ("add", SubcommandKind::Granted),
    ("commit", SubcommandKind::Granted),
    (
        "branch",
        with(
            "a r v q l d D i all remotes verbose quiet list delete ignore-case no-track show-current create-reflog color no-color column no-column merged no-merged \
             contains no-contains",
            "sort format points-at abbrev",
        ),
    ),
    (
        "checkout",
        with(
            "q quiet no-track l d detach m merge ours theirs 2 3 p patch progress \
             no-progress overlay no-overlay guess no-guess recurse-submodules no-recurse-submodules",
            "b orphan conflict pathspec-from-file",
        ),
    ),
    (
        "switch",
        with(
            "q quiet d detach m merge no-track guess no-guess progress no-progress \
             recurse-submodules no-recurse-submodules",
            "c create orphan conflict",
        ),
    ),
    (
        "merge",
        with(
            "n stat no-stat summary q quiet v verbose e edit no-edit ff no-ff ff-only squash \
             no-squash commit no-commit abort continue quit signoff no-signoff autostash \
             no-autostash allow-unrelated-histories log no-log verify no-verify no-gpg-sign \
             progress no-progress no-verify-signatures rerere-autoupdate no-rerere-autoupdate",
            "m message F file into-name s strategy X strategy-option cleanup",
        ),
    ),
    (
        "fetch",
        with(
            "q quiet v verbose a append n no-tags t tags all atomic dry-run 4 6 ipv4 ipv6 progress \
             no-progress no-recurse-submodules no-auto-gc no-auto-maintenance \
             no-write-fetch-head show-forced-updates no-show-forced-updates",
            "j jobs",
        ),
    ),
    (
        "pull",
        with(
            "q quiet v verbose a append n stat no-stat summary t tags no-tags all dry-run 4 6 ipv4 ipv6 \
             r rebase no-rebase ff no-ff ff-only squash no-squash commit no-commit e edit no-edit \
             autostash no-autostash signoff no-signoff verify no-verify log no-log progress \
             no-progress no-recurse-submodules allow-unrelated-histories no-verify-signatures",
            "s strategy X strategy-option cleanup j jobs",
        ),
    ),
    ("mv", with("n v k dry-run verbose", "")),
    ("cherry-pick", with(PICKS, PICKS_BY)),
    ("revert", with(PICKS, PICKS_BY)),
    (
        "stash",
        SubcommandKind::GrantedAs {
            verbs: &["", "push", "save", "pop", "apply", "branch"],
            options: OptionTable {
                flags: "k keep-index no-keep-index u include-untracked no-include-untracked a all p \
                        patch q quiet S staged index",
                valued: "m message",
            },
            looks: &["list", "show"],
        },
    ),
    (
        "rebase",
        with(
            "i interactive q quiet v verbose n stat no-stat continue abort skip quit edit-todo \
             show-current-patch autosquash no-autosquash autostash no-autostash root keep-base \
             keep-empty no-keep-empty r rebase-merges no-rebase-merges no-ff fork-point \
             no-fork-point signoff m merge apply update-refs no-update-refs verify no-verify \
             committer-date-is-author-date ignore-date reset-author-date reapply-cherry-picks \
             no-reapply-cherry-picks ignore-whitespace no-gpg-sign",
            "onto s strategy X strategy-option empty whitespace C",
        ),
    ),
    (
        "reset",
        with(
            "q quiet soft mixed keep N intent-to-add p patch refresh no-refresh",
            "pathspec-from-file",
        ),
    ),
    (
        "restore",
        with(
            "S staged W worktree q quiet p patch ours theirs m merge progress no-progress overlay \
             no-overlay ignore-unmerged",
            "s source conflict pathspec-from-file",
        ),
    ),
    ("rm", with("r q n cached dry-run quiet ignore-unmatch sparse", "pathspec-from-file")),
    (
        "tag",
        with(
            "a annotate l list d delete n 0 1 2 3 4 5 6 7 8 9 i ignore-case column no-column color \
             create-reflog merged no-merged contains no-contains no-sign",
            "m message F file cleanup sort format points-at",
        ),
    ),
    ("blame", SubcommandKind::Looks),
    ("cat-file", SubcommandKind::Looks),
    ("check-attr", SubcommandKind::Looks),
    ("check-ignore", SubcommandKind::Looks),
    ("cherry", SubcommandKind::Looks),
    ("count-objects", SubcommandKind::Looks),
    ("describe", SubcommandKind::Looks),
    ("diff", SubcommandKind::Looks),
    ("diff-files", SubcommandKind::Looks),
    ("diff-index", SubcommandKind::Looks),
    ("diff-tree", SubcommandKind::Looks),
    ("for-each-ref", SubcommandKind::Looks),
    ("grep", SubcommandKind::Looks),
    ("log", SubcommandKind::Looks),
    ("ls-files", SubcommandKind::Looks),
    ("ls-tree", SubcommandKind::Looks),
    ("merge-base", SubcommandKind::Looks),
    ("name-rev", SubcommandKind::Looks),
    ("range-diff", SubcommandKind::Looks),
    ("rev-list", SubcommandKind::Looks),
    ("rev-parse", SubcommandKind::Looks),
    ("shortlog", SubcommandKind::Looks),
    ("show", SubcommandKind::Looks),
    ("show-branch", SubcommandKind::Looks),
    ("show-ref", SubcommandKind::Looks),
    ("status", SubcommandKind::Looks),
    ("var", SubcommandKind::Looks),
    ("version", SubcommandKind::Looks),
    ("whatchanged", SubcommandKind::Looks),
    ("reflog", SubcommandKind::BesideAs(&["", "show", "exists"])),
    ("remote", SubcommandKind::BesideAs(&["", "show", "get-url"])),
    ("submodule", SubcommandKind::BesideAs(&["", "status", "summary"])),
    ("worktree", SubcommandKind::BesideAs(&["list"])),
    (
        "apply",
        SubcommandKind::Beside(OptionTable {
            flags: "stat numstat summary check v verbose q quiet R reverse recount reject \
                    unidiff-zero allow-empty",
            valued: "p C whitespace exclude include directory",
        }),
    ),
    ("clean", SubcommandKind::Beside(OptionTable { flags: "n dry-run d x X q quiet", valued: "" })),
    (
        "push",
        SubcommandKind::Beside(OptionTable {
            flags: "q quiet v verbose tags follow-tags all n dry-run porcelain atomic \
                    progress no-progress no-verify",
            valued: "",
        }),
    ),
    ("config", SubcommandKind::Never(CONFIGURES)),
    ("init", SubcommandKind::Never(MAKES)),
    ("clone", SubcommandKind::Never(MAKES)),
    ("filter-branch", SubcommandKind::Never("it runs programs on all of history")),
    (
        "submodule--helper",
        SubcommandKind::Never("it makes repositories, which takes git_config_write"),
    ),
];

/// Strategies of merging that git has itself; another name is a program.
pub(super) const STRATEGIES: [&str; 6] =
    ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];
