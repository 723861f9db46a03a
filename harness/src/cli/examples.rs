//! What stands below the help of each verb: command lines that work.

/// Of the program.
pub(super) const PROGRAM: &str = "\
Examples:
  boxproof run                                  the corpus against the reference sandbox
  boxproof run --backend bubblewrap --backend none
  boxproof run 'protect/**' level:must --report run.ndjson
  boxproof explain fs/write-outside/write       what one case asks, and why it matters
  boxproof repro net/tcp4 --backend none        the same without boxproof: --export DIR
  boxproof matrix                               every installed backend, records and pages
  boxproof audit                                can every case fail?

Besides, `boxproof reference …` is the reference sandbox and `boxproof probe …` the probe program.
Exit codes of run: 0 as expected, 1 unexpected verdicts, 2 usage or corpus error,
3 something was not learnt or a backend is not installed, 4 nothing judged. gate ends with 5
where it is red.";

/// Of `run`.
pub(super) const RUN: &str = "\
Examples:
  boxproof run --backend bubblewrap --backend none 'fs/**' level:must
  boxproof run --cases my --backend ./box.yaml --report run.ndjson
  boxproof run --last-failed run.ndjson --backend ./box.yaml";

/// Of `list`.
pub(super) const LIST: &str = "\
Examples:
  boxproof list 'net/**' needs:net.none
  boxproof list --format json area:fs";

/// Of `show`.
pub(super) const SHOW: &str = "Example:\n  boxproof show 'fs/write-outside/**'";

/// Of `explain`.
pub(super) const EXPLAIN: &str = "Example:\n  boxproof explain net/tcp4";

/// Of `matrix`.
pub(super) const MATRIX: &str = "\
Examples:
  boxproof matrix --out matrix
  boxproof matrix --backends reference,bubblewrap,none --twice";

/// Of `repro`.
pub(super) const REPRO: &str = "\
Examples:
  boxproof repro net/tcp4 --backend none
  boxproof repro net/tcp4 --backend none --export failure";

/// Of `report`.
pub(super) const REPORT: &str = "\
Examples:
  boxproof report run.ndjson
  boxproof report --format html one.ndjson two.ndjson";

/// Of `site`.
pub(super) const SITE: &str = "\
Examples:
  boxproof site records --out site
  boxproof site mine.ndjson old/*.ndjson --out site";

/// Of `compare`.
pub(super) const COMPARE: &str = "Example:\n  boxproof compare reports/matrix";

/// Of `diff`.
pub(super) const DIFF: &str = "\
Example:
  boxproof diff old.ndjson new.ndjson

It exits with 1 where something is worse (a case that is not asked any more included), and with 4
where nothing was compared and nothing is worse.";

/// Of `gate`.
pub(super) const GATE: &str = "\
Examples:
  boxproof gate run.ndjson
  boxproof gate shards --policy release.toml --program reference=target/release/refbox";

/// Of `expect`.
pub(super) const EXPECT: &str = "Example:\n  boxproof expect update --backend ./box.yaml";

/// Of `lint`.
pub(super) const LINT: &str = "Example:\n  boxproof lint --cases my";

/// Of `coverage`.
pub(super) const COVERAGE: &str = "\
Examples:
  boxproof coverage --gate
  boxproof coverage --format html
  boxproof coverage --cases my";

/// Of `audit`.
pub(super) const AUDIT: &str = "\
Examples:
  boxproof audit 'fs/**'
  boxproof audit --mutants='network.*'
  boxproof audit --cases my";

/// Of `doctor`.
pub(super) const DOCTOR: &str = "\
Examples:
  boxproof doctor
  boxproof doctor --json";

/// Of `backend`.
pub(super) const BACKEND: &str = "\
Examples:
  boxproof backend list
  boxproof backend check ./box.yaml";

/// Of `capabilities`.
pub(super) const CAPABILITIES: &str = "\
Examples:
  boxproof capabilities
  boxproof capabilities --format json";

/// Of `new`.
pub(super) const NEW: &str = "\
Examples:
  boxproof new backend box
  boxproof new case fs/my-rule";

/// Of `schema`.
pub(super) const SCHEMA: &str = "\
Examples:
  boxproof schema
  boxproof schema manifest";

/// Of `completions`.
pub(super) const COMPLETIONS: &str = "\
Examples:
  boxproof completions bash > ~/.local/share/bash-completion/completions/boxproof
  boxproof completions zsh > ~/.zfunc/_boxproof";

/// Of `man`.
pub(super) const MAN: &str = "\
Examples:
  boxproof man run | man -l -
  boxproof man --out man1";
