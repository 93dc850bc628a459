// The process that plays the shares of scripts that run.cjs gives it.
require('../support/run-sources.cjs');
require('./player.ts');
