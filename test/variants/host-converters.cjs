// A payload converter as a host may have one. It also runs in the sandbox of the workflows.
const {
  BinaryPayloadConverter,
  CompositePayloadConverter,
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
