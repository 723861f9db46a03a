//! Starters: the files that `boxproof new` writes, with a remark on each part.

use boxproof_cases::schema::{address, editor_line};

use crate::backend::MANIFEST_SCHEMA;
use crate::known::is_exempt;
use crate::project::PROJECT_SCHEMA;

/// The manifest, whose first line that is no remark is its name.
const BACKEND: &str = include_str!("../templates/backend.yaml");
const CASE: &str = include_str!("../templates/case.yaml");
const PROJECT: &str = include_str!("../templates/project.toml");

/// The place of the schema of cases.
const CASE_SCHEMA: &str = "cases/schema/case.schema.json";

/// Returns a manifest for the backend called `name`.
///
/// # Errors
/// A name that no backend of one's own can have, with the remedy.
pub fn backend(name: &str) -> Result<String, String> {
    if !is_kebab(name) {
        return Err(format!("backend `{name}`: use a-z, 0-9 and -, as in my-box"));
    }
    if is_exempt(name) {
        return Err(format!(
            "backend `{name}`: this is one of boxproof's own: choose another name"
        ));
    }
    Ok(editor_line(MANIFEST_SCHEMA) + &BACKEND.replace("name: jail", &format!("name: {name}")))
}

/// Returns a case whose id is `id`.
///
/// # Errors
/// An id that no case can have, with the remedy.
pub fn case(id: &str) -> Result<String, String> {
    if !id.contains('/') || !id.split('/').all(is_kebab) {
        return Err(format!("case `{id}`: write AREA/NAME of a-z, 0-9 and -, as in fs/my-rule"));
    }
    let purpose = format!("Writing a file beside the workspace is refused ({id}).");
    let text = CASE.replace("ID", id).replace("PURPOSE", &purpose);
    Ok(editor_line(CASE_SCHEMA) + &text)
}

/// Returns a project file.
#[must_use]
pub fn project() -> String {
    format!("#:schema {}\n{PROJECT}", address(PROJECT_SCHEMA))
}

fn is_kebab(word: &str) -> bool {
    let kebab = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !word.is_empty() && !word.starts_with('-') && word.bytes().all(kebab)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Manifest;
    use crate::project::ProjectFile;
    use boxproof_cases::{Suite, lint};
    use std::path::Path;

    #[test]
    fn a_manifest_loads_and_reads_the_whole_policy() {
        let text = backend("my-box").unwrap();
        let manifest = Manifest::parse(Path::new("my-box.yaml"), &text).unwrap();
        assert_eq!(manifest.name, "my-box");
        assert_eq!(manifest.unsaid.notes("my-box.yaml"), [""; 0]);
    }

    #[test]
    fn the_guides_example_is_the_starter_without_its_remarks() {
        let guide = include_str!("../backends/README.md");
        let example = guide.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
        let bare = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
            lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        assert_eq!(bare(BACKEND), bare(example));
    }

    #[test]
    fn cases_load_and_lint_clean_side_by_side() {
        let files = ["fs/my-rule", "net/my-rule", "net/deep/er"]
            .map(|id| (format!("{id}.yaml").into(), case(id).unwrap()));
        let own = "R-fs-write-outside: {text: T., source: s, polarity: negative}\n".to_owned();
        let suite =
            Suite::from_files("cases", files.into(), &[("r.yaml".into(), own)].into()).unwrap();
        assert_eq!(suite.cases.len(), 3);
        assert_eq!(lint(&suite), []);
    }

    #[test]
    fn a_project_file_loads_as_it_is_and_with_every_remark_that_is_a_setting() {
        let file = Path::new("boxproof.toml");
        let plain = ProjectFile::parse(file, &project()).unwrap();
        assert_eq!(plain.run.backends, ["reference", "none"]);
        let settings = project().replace("\n#= ", "\n");
        let whole = ProjectFile::parse(file, &settings).unwrap();
        assert!(whole.gate.is_some() && whole.run.jobs.is_some() && !whole.run.cases.is_empty());
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        for name in ["", "Box", "a/b", "none", "reference", "../x", "-x", "a b"] {
            assert!(backend(name).is_err(), "{name}");
        }
        for id in ["", "fs", "fs/", "/x", "fs/../x", "Fs/x", "fs/x.yaml"] {
            assert!(case(id).is_err(), "{id}");
        }
    }
}
