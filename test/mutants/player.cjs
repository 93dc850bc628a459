// The process that plays scripts with a mutant. It is killed when a mutant never ends.
require('../support/run-sources.cjs');
require('./player.ts');
