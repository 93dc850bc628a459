// For tests that import the workflows; in Temporal's sandbox the bundle does the same.
globalThis.__mutant__ = process.env.VIDEOGEN_MUTANT;
