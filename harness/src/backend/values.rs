//! Values of a manifest that can never hold: found when it is read, and not while a case is run.

use super::Manifest;

impl Manifest {
    /// Returns the first field with such a value, and why.
    pub(super) fn unusable_value(&self) -> Option<(String, String)> {
        let fault = self.exits_fault().or_else(|| self.env_fault());
        let fault = fault.or_else(|| self.residue_fault()).or_else(|| self.files_fault());
        let fault = fault.or_else(|| self.stop.fault());
        fault.map(|(field, message)| (field.to_owned(), message))
    }

    fn exits_fault(&self) -> Option<(&'static str, String)> {
        let code = self.exits.impossible_code()?;
        Some(("exits", format!("`{code}` is no exit code: these are 0 to 255")))
    }

    fn env_fault(&self) -> Option<(&'static str, String)> {
        let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        if let Some(name) = self.env.keys().find(|name| !is_name(name)) {
            let name = name.escape_debug();
            return Some((
                "env",
                format!("`{name}` is no name of a variable: empty, or with = or NUL"),
            ));
        }
        let (name, _) = self.env.iter().find(|(_, value)| value.contains('\0'))?;
        Some(("env", format!("the value of `{name}` has a NUL, which no variable can hold")))
    }

    fn residue_fault(&self) -> Option<(&'static str, String)> {
        let fault = |glob: &String| {
            if !["$WS/", "$HOME/", "$TMPDIR/"].iter().any(|root| glob.starts_with(root)) {
                return Some(format!("`{glob}` starts with none of $WS/ $HOME/ $TMPDIR/"));
            }
            if glob.split('/').any(|part| part == "..") {
                return Some(format!("`{glob}` climbs by `..`: it is to be below its directory"));
            }
            globset::Glob::new(glob).err().map(|error| error.to_string())
        };
        self.residue.iter().find_map(fault).map(|message| ("residue", message))
    }

    fn files_fault(&self) -> Option<(&'static str, String)> {
        let is_relative = |path: &str| !path.starts_with(['/', '{']) || path.contains('\0');
        let file = self.files.iter().find(|file| is_relative(&file.path))?;
        let path = file.path.escape_debug();
        Some(("files", format!("`{path}` is no absolute path: begin with / or {{{{ state }}}}")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use rstest::rstest;

    const HEAD: &str = "name: box\nsummary: A.\nprogram: box\nargv: '{{ command }}'\n";

    #[rstest]
    #[case("exits: {refused: [{exit: 999}]}", "exits: `999` is no exit code")]
    #[case("exits: {setup_failed: [{exit: -1}]}", "exits: `-1` is no exit code")]
    #[case("exits: {signal: 256}", "exits: `256` is no exit code")]
    #[case("env: {'A=B': c}", "env: `A=B` is no name")]
    #[case("env: {'': c}", "env: `` is no name")]
    #[case(r#"env: {"A\0": c}"#, r"env: `A\0` is no name")]
    #[case(r#"env: {A: "b\0"}"#, "env: the value of `A` has a NUL")]
    #[case("residue: [$WS/a/../../b]", "residue: `$WS/a/../../b` climbs")]
    #[case("residue: [/etc/a]", "residue: `/etc/a` starts with none of")]
    #[case("files: [{path: box.toml, content: ''}]", "files: `box.toml` is no absolute path")]
    fn a_value_that_can_never_hold_is_found_when_it_is_read(#[case] line: &str, #[case] why: &str) {
        let error = Manifest::parse(Path::new("box.yaml"), &format!("{HEAD}{line}\n")).unwrap_err();
        assert!(error.to_string().starts_with("box.yaml:5: "), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }

    #[rstest]
    #[case("exits: {refused: [{exit: 255}], setup_failed: [{exit: 0, stderr_prefix: x}]}")]
    #[case("residue: [$WS/a..b/*, $HOME/.x/**]")]
    #[case("files: [{path: /a, content: ''}, {path: '{{ state }}/a', content: ''}]")]
    fn other_values_are_taken(#[case] line: &str) {
        Manifest::parse(Path::new("box.yaml"), &format!("{HEAD}{line}\n")).unwrap();
    }
}
