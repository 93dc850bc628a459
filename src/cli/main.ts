#!/usr/bin/env node
import * as nodeModule from 'node:module';
import { run } from './run';
import { processTerminal } from './terminal';

// From Node 22 on, the next start takes the compiled code from a cache. The types are those of Node 20.
(nodeModule as { enableCompileCache?(): unknown }).enableCompileCache?.();

const terminal = processTerminal();
void run(process.argv.slice(2), terminal)
  .then((code) => terminal.end(code))
  .then((code) => process.exit(code));
