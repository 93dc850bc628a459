#!/usr/bin/env node
import { run } from './run';
import { processTerminal } from './terminal';

const terminal = processTerminal();
void run(process.argv.slice(2), terminal)
  .then((code) => terminal.end(code))
  .then((code) => process.exit(code));
