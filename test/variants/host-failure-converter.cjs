// A failure converter as a host may have one: the SDK's own, with messages and stack traces in a payload.
const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
