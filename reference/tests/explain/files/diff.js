const assert = require('assert');
assert.strictEqual("EROFS: read-only file system, open '/etc/x'", "EACCES: permission denied, open '/etc/x'");
