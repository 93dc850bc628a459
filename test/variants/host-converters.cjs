// The converters of payloads and failures as a host may have them. They also run in the sandbox of the workflows.
const {
  BinaryPayloadConverter,
  CompositePayloadConverter,
  DefaultFailureConverter,
  JsonPayloadConverter,
  UndefinedPayloadConverter,
} = require('@temporalio/common');

const ENCODING = 'json/host';
const json = new JsonPayloadConverter();

/** JSON in an envelope. What others have written, the SDK's own converter reads. */
class HostJsonConverter {
  encodingType = ENCODING;

  toPayload(value) {
    const payload = json.toPayload({ host: value });
    return payload && { ...payload, metadata: { encoding: new TextEncoder().encode(ENCODING) } };
  }

  fromPayload(payload) {
    return json.fromPayload(payload).host;
  }
}

exports.payloadConverter = new CompositePayloadConverter(
  new UndefinedPayloadConverter(),
  new BinaryPayloadConverter(),
  new HostJsonConverter(),
  json,
);

/** The SDK's own, with messages and stack traces in a payload. */
exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
