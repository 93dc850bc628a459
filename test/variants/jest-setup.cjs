// Jest loads the SDK anew for each test file, and not through Node: here its copy is changed too.
const CHANGES = require('./changes.cjs');

for (const [path, change] of Object.entries(CHANGES)) change(require(path));
