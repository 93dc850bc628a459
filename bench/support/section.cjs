/** The command line of one section's script: `node bench/NAME.cjs [--quick] [--json FILE]`. */
const { writeFileSync } = require('node:fs');
const { parseArgs } = require('node:util');
const { terminalTable } = require('./tables.cjs');

/** Prints the section that `measure` resolves with. Exits by itself, since servers may leave sockets behind. */
exports.runSection = async (measure) => {
  const { values } = parseArgs({ options: { json: { type: 'string' }, quick: { type: 'boolean' } } });
  try {
    const section = await measure({ quick: values.quick === true });
    process.stdout.write(`${terminalTable({ notes: [], ...section })}\n`);
    if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(section));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  }
};
