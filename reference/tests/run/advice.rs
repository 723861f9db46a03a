//! What an explanation suggests, followed to the letter: the request is changed as it says, and then
//! the same command works. The runs are rows of `advice.tsv`: language, policy, command, the rule
//! and what the suggestion says.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

use super::bed::{Done, ORDINARY, TestBed};

/// A run under rules in one language.
#[derive(Clone)]
struct Ruled {
    dialect: &'static str,
    rules: Value,
    line: String,
    /// Nothing confines it.
    outside: bool,
}

/// Starts a server of the host's, which answers whatever it is asked; its port.
fn serve() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut asked = [0; 1024];
            let _gone = client.read(&mut asked);
            let _gone = client.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    port
}

/// A repository and files, inside and outside, and a socket that a server is bound to.
fn furnished() -> (TestBed, UnixListener) {
    let bed = TestBed::new(ORDINARY);
    for name in ["secret/k", "keep/k", "src/m", "sub/f", "a", "b.env"] {
        fs::create_dir_all(bed.ws(name).parent().unwrap()).unwrap();
        fs::write(bed.ws(name), "text\n").unwrap();
    }
    // An empty file is a database without tables.
    for name in ["d.db", "keep/d.db"] {
        fs::write(bed.ws(name), "").unwrap();
    }
    fs::create_dir(bed.out("sub")).unwrap();
    fs::write(bed.out("f"), "text\n").unwrap();
    fs::write(bed.out("sub/f"), "text\n").unwrap();
    let script = "git init -q -b main $W && cd $W && git config user.name n &&
        git config user.email e@x && rm -rf .git/hooks && mkdir .git/hooks && git add src &&
        git commit -q -m one && git init -q --bare $O/bare.git";
    let mut shell = Command::new("sh");
    shell.args(["-ec", &placed(&bed, script, 0)]).env("HOME", bed.out(""));
    assert!(shell.status().unwrap().success());
    let socket = UnixListener::bind(bed.out("s.sock")).unwrap();
    fs::set_permissions(bed.out("s.sock"), Permissions::from_mode(0o777)).unwrap();
    (bed, socket)
}

fn placed(bed: &TestBed, text: &str, port: u16) -> String {
    let names = [("$W", bed.ws("")), ("$O", bed.out(""))];
    let text = names
        .iter()
        .fold(text.to_owned(), |text, (name, path)| text.replace(name, path.to_str().unwrap()));
    text.replace("$P", &port.to_string())
}

impl Ruled {
    /// The request; documents are JSON, which YAML takes, or TOML.
    fn request(&self, bed: &TestBed) -> Value {
        let workspace = bed.ws("");
        let run = json!({"command": {"shell": self.line}, "cwd": workspace, "capture": true});
        if self.outside {
            let policy = json!({"workspace": workspace, "mode": "unconfined"});
            return json!({"protocol": 1, "policy": policy, "run": run});
        }
        let document = |name: &str, text: String| {
            json!({"protocol": 1, "dialect": self.dialect, "workspace": workspace, "run": run,
                "documents": [{"name": name, "text": text}]})
        };
        let part = |name: &str, or: Value| match &self.rules[name] {
            Value::Null => or,
            given => given.clone(),
        };
        match self.dialect {
            "neutral" => {
                let mut policy = self.rules.clone();
                policy["workspace"] = json!(workspace);
                json!({"protocol": 1, "policy": policy, "run": run})
            }
            "inferoa" => {
                let mut block = self.rules.clone();
                block["mode"] = part("mode", "workspace_write".into());
                document("c.yaml", json!({"sandbox": block}).to_string())
            }
            "caliban" => {
                let mut files = json!({"allow_write": [workspace], "allow_read": [workspace]});
                let mut network = json!({});
                for (name, value) in self.rules.as_object().unwrap() {
                    let table = if name.contains("port") { &mut network } else { &mut files };
                    table[name] = value.clone();
                }
                // A list or number of JSON is one of TOML.
                let table = |name: &str, members: &Value| {
                    let members = members.as_object().unwrap().iter();
                    let lines = members.map(|(name, value)| format!("{name} = {value}\n"));
                    format!("[sandbox{name}]\n{}", lines.collect::<String>())
                };
                let enabled = table("", &json!({"enabled": true}));
                let text = enabled + &table(".filesystem", &files) + &table(".network", &network);
                document("s.toml", text)
            }
            _ => {
                let own = json!({"read": part("read", json!(["**"])),
                    "modify": part("modify", json!(["**"]))});
                let spec = json!({"fsProfiles": {"p": own}, "denyRead": part("denyRead", json!([])),
                    "denyModify": part("denyModify", json!([]))});
                let policy = json!({"schemaVersion": 2, "kind": "Policy",
                    "metadata": {"name": "default"}, "spec": spec});
                let mut request = document("policy.json", policy.to_string());
                request["profile"] = "p".into();
                request
            }
        }
    }

    fn go(&self, bed: &TestBed) -> Done {
        fs::write(bed.request_file(), self.request(bed).to_string()).unwrap();
        let output = bed.refbox().env("HOME", bed.out("")).output().unwrap();
        bed.done(&output)
    }

    fn list(&mut self, name: &str) -> &mut Vec<Value> {
        let base = match (self.dialect, name) {
            ("orbit", "read" | "modify") => json!(["**"]),
            _ => json!([]),
        };
        if self.rules[name].is_null() {
            self.rules[name] = base;
        }
        self.rules[name].as_array_mut().unwrap()
    }

    /// Changes what `find` finds that is said of hosts.
    fn follow_of_hosts(&mut self, find: &dyn Fn(&str) -> Vec<Vec<String>>) {
        for found in find(r"Set policy\.network to (\{.*\}\})") {
            self.rules["network"] = serde_json::from_str(&found[0]).unwrap();
        }
        for found in find(r"(?i)add (\S+) to policy\.network\.domains\.allow") {
            let list = &mut self.rules["network"]["domains"]["allow"];
            list.as_array_mut().unwrap().push(json!(found[0]));
        }
        for found in find(r"Take (\S+) out of policy\.network\.domains\.deny") {
            let list = &mut self.rules["network"]["domains"]["deny"];
            list.as_array_mut().unwrap().retain(|entry| *entry != json!(found[0]));
        }
    }

    /// Changes what `action` says, word for word; whether it said anything.
    fn follow(&mut self, bed: &TestBed, action: &str) -> bool {
        let before = (self.request(bed), self.outside);
        let find = |pattern: &str| -> Vec<Vec<String>> {
            let regex = Regex::new(pattern).unwrap();
            let found = regex.captures_iter(action);
            found
                .map(|one| one.iter().skip(1).map(|part| part.unwrap().as_str().into()).collect())
                .collect()
        };
        for found in
            find(r"(?i)\badd (\S+) to (?:policy|sandbox|filesystem)\.(\w+)(?:,| if|\.(?: |$))")
        {
            // A caliban list has the workspace already.
            if self.dialect == "caliban" && self.rules[&found[1]].is_null() {
                self.list(&found[1]).push(json!(bed.ws("")));
            }
            self.list(&found[1]).push(json!(found[0]));
        }
        for found in find(r"(\S+) out of (?:policy|filesystem)\.(deny_\w+)") {
            self.list(&found[1]).retain(|entry| *entry != json!(found[0]));
        }
        for found in find(r"(?i)\bset (?:policy|sandbox|network)\.(\w+) to ([\w]+)") {
            let number = found[1].parse::<u16>();
            self.rules[&found[0]] = number.map_or_else(|_| json!(found[1]), |port| json!(port));
        }
        self.follow_of_hosts(&find);
        for found in find(r"add `([^`]+)` to `(\w+)` of the profile")
            .into_iter()
            .chain(find(r"put `([^`]+)` behind `[^`]+` at \S+ in `(\w+)`"))
        {
            self.list(&found[1]).push(json!(found[0]));
        }
        for found in find(r"put the exception `([^`]+)`") {
            self.list("denyModify").push(json!(found[0]));
        }
        for found in find(r"narrow or remove `([^`]+)`") {
            for name in ["denyRead", "denyModify"] {
                self.list(name).retain(|entry| *entry != json!(found[0]));
            }
        }
        for found in find(r"Run `([^`]+)` as a line of its own") {
            self.line.clone_from(&found[0]);
        }
        if action.starts_with("Copy it and remove the original") {
            self.line = self.line.replace("ln ", "cp ");
        }
        if Regex::new("^(?:Write|Work) inside the workspace:").unwrap().is_match(action) {
            self.line = self.line.replace(bed.out("").to_str().unwrap(), "src");
            fs::write(bed.ws("src/f"), "text\n").unwrap();
        }
        self.outside = action.contains("outside the sandbox");
        (self.request(bed), self.outside) != before
    }
}

/// Runs `row`, follows what is suggested and runs it again; an error says what came of it.
fn followed(row: &str, port: u16) -> Result<(), String> {
    let (bed, _served) = furnished();
    let placed = placed(&bed, row, port);
    let [dialect, rules, line, rule, says] = placed.split('\t').collect::<Vec<_>>()[..] else {
        panic!("{row}: not five columns");
    };
    let names = ["neutral", "inferoa", "caliban", "orbit"];
    let dialect = names.into_iter().find(|name| *name == dialect).unwrap();
    let rules = serde_json::from_str(rules).unwrap();
    let mut ruled = Ruled { dialect, rules, line: line.to_owned(), outside: false };
    let refused = ruled.go(&bed);
    let blocked = &refused.result["blocked"];
    let action = blocked["suggested_action"].as_str().unwrap_or_default().to_owned();
    if blocked["rule"] != rule || !action.contains(says) {
        return Err(format!("{row}: {blocked} {}", refused.result));
    }
    let changed = ruled.follow(&bed, &action);
    let after = ruled.go(&bed);
    match changed && after.code == Some(0) {
        true => Ok(()),
        false => Err(format!("{row}: {action}: {}", after.result)),
    }
}

#[test]
fn suggestions_work_when_they_are_followed() {
    /// Rows that are run side by side.
    const BESIDE: usize = 4;
    let port = serve();
    let rows: Vec<&str> = include_str!("advice.tsv").lines().collect();
    let each = |rows: &[&str]| -> Vec<String> {
        rows.iter().filter_map(|row| followed(row, port).err()).collect()
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts = rows.chunks(rows.len().div_ceil(BESIDE));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || each(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    println!("{} of {} suggestions work", rows.len() - wrong.len(), rows.len());
    assert!(rows.len() >= 40, "{} rows", rows.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
