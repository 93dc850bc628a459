#!/usr/bin/env node
import { run } from './run';
import { processTerminal } from './terminal';

void run(process.argv.slice(2), processTerminal()).then((code) => process.exit(code));
