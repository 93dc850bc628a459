const { deflateSync, inflateSync } = require('node:zlib');
const { temporal } = require('@temporalio/proto');

const { Payload } = temporal.api.common.v1;
const ENCODING = 'binary/host-deflated';

/** Compresses, as a codec of a host may. */
exports.hostCodec = {
  async encode(payloads) {
    return payloads.map((payload) => ({
      metadata: { encoding: Buffer.from(ENCODING) },
      data: deflateSync(Payload.encode(payload).finish()),
    }));
  },
  async decode(payloads) {
    return payloads.map((payload) =>
      Buffer.from(payload.metadata?.encoding ?? []).toString() === ENCODING
        ? Payload.decode(inflateSync(payload.data))
        : payload,
    );
  },
};
