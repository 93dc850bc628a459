/** The workflow of `bare-worker.cjs`. */
exports.doNothing = async () => undefined;
