/** What callers may do to a gateway, with a key or without. Each attack opens a few connections and ends them. */
const { connect } = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');

/** Holds connections that send a text and read nothing, and then ends them. */
async function hold(port, { connections, text, ms }) {
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1').pause();
    socket.on('error', () => undefined).write(text);
    return socket;
  });
  await sleep(ms);
  for (const socket of sockets) socket.destroy();
}

/** Holds connections that begin one after the other. */
function holdInTurn(port, { texts, ms }) {
  const held = texts.map(async (text, index) => {
    const startsAfterMs = (index * ms) / texts.length;
    await sleep(startsAfterMs);
    await hold(port, { connections: 1, text, ms: ms - startsAfterMs });
  });
  return Promise.all(held);
}

const head = (method, path, key, more = '') =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${key ? `authorization: Bearer ${key}\r\n` : ''}${more}\r\n`;
const jsonHead = (key, bytes, more = '') =>
  head('POST', '/v1/videos', key, `content-type: application/json\r\ncontent-length: ${bytes}\r\n${more}`);

const IMAGE_START = '{"prompt":"A fox","image_url":"data:image/png;base64,';
const UNFINISHED = Buffer.alloc(26_900_000, 'A');
const NESTED = `{"prompt":"A fox","x":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`;

/** A request of a caller that waits for its video, with an image of 10 MB that no other one has. */
function waiting(key, index) {
  const image = Buffer.alloc(10_000_000, index);
  image.write('\x89PNG\r\n\x1a\n....IHDR', 'latin1');
  const json = `${IMAGE_START}${image.toString('base64')}"}`;
  return jsonHead(key, json.length, 'prefer: wait=60\r\n') + json;
}

/** By the row of the table that is printed. */
const ATTACKS = {
  'pipelined documents, unread, without a key': ({ port, ms }) =>
    hold(port, { connections: 40, text: head('GET', '/openapi.json').repeat(1_200), ms }),
  'documents in turn, unread, without a key': ({ port, ms }) =>
    hold(port, { connections: 200, text: head('GET', '/openapi.json').repeat(10), ms }),
  'pipelined events': ({ port, ms, key, running }) =>
    hold(port, { connections: 100, text: head('GET', `/v1/videos/${running}/events`, key).repeat(400), ms }),
  'events in turn': ({ port, ms, key, running }) =>
    hold(port, { connections: 100, text: head('GET', `/v1/videos/${running}/events`, key).repeat(10), ms }),
  'pipelined downloads': ({ port, ms, key, ended }) =>
    hold(port, { connections: 3, text: head('GET', `/v1/videos/${ended}/content`, key).repeat(400), ms }),
  'downloads in turn, unread': ({ port, ms, key, ended }) =>
    hold(port, { connections: 60, text: head('GET', `/v1/videos/${ended}/content`, key).repeat(10), ms }),
  'nested JSON of a key with one request a second': ({ port, ms, limitedKey }) =>
    hold(port, { connections: 20, text: jsonHead(limitedKey, NESTED.length) + NESTED, ms }),
  'nested JSON of a key without limits': ({ port, ms, key }) =>
    hold(port, { connections: 10, text: jsonHead(key, NESTED.length) + NESTED, ms }),
  'unfinished images of 27 MB': ({ port, ms, key }) =>
    hold(port, { connections: 20, text: jsonHead(key, 27_000_000) + IMAGE_START + UNFINISHED, ms }),
  'unfinished images of 27 MB, without a length': ({ port, ms, key }) => {
    const chunk = IMAGE_START + UNFINISHED;
    const headers = 'content-type: application/json\r\ntransfer-encoding: chunked\r\n';
    const start = head('POST', '/v1/videos/text-to-video', key, headers);
    return hold(port, { connections: 20, text: `${start}${chunk.length.toString(16)}\r\n${chunk}\r\n`, ms });
  },
  'images of callers who wait': ({ port, ms, key }) =>
    holdInTurn(port, { texts: Array.from({ length: 20 }, (_, index) => waiting(key, index)), ms }),
  'wrong keys': ({ port, ms }) =>
    hold(port, { connections: 100, text: head('GET', '/v1/videos', 'vgk_wrong').repeat(10), ms }),
};

module.exports = { ATTACKS };
