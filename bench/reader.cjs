/**
 * Measures how long the reader takes for answers of 1 MB in hostile shapes: `npm run bench:reader`, some seconds. It counts
 * CPU time of all threads, so that other work on the machine does not matter. Prints the slowest and the median of RUNS
 * readings of each shape (20 unless set), and exits with 1 if one took longer than 50 ms.
 */
const { readingRules, traceAnswer } = require('../dist/src/service');

const RUNS = Number(process.env.RUNS ?? 20);
const LIMIT_MS = 50;
const MEGABYTE = 1_000_000;

const repeated = (piece, between = '') =>
  Array(Math.floor(MEGABYTE / (piece.length + between.length)))
    .fill(piece)
    .join(between);
const json = (value) => JSON.stringify(value);
const LINK = 'https://cdn.example.com/v/1.mp4?sign=0123456789';

/** As many levels as fit: each one doubles the backslashes. */
function jsonInStrings() {
  let text = json({ task_id: 'a', status: 'running' });
  for (;;) {
    const next = json({ data: text, task: text });
    if (next.length > MEGABYTE) return text;
    text = next;
  }
}

const filled = (keys, value) => json(Object.fromEntries(keys.map((key) => [key, value])));
const HOLDERS = ['data', 'task', 'output', 'result'];
const FIELDS = [
  ...['output', 'outputs', 'videos', 'results', 'resultUrls', 'creations', 'content', 'video', 'error'],
  ...['detail', 'task_result', 'response', 'resultJson', 'status', 'message', 'code', 'url', 'done'],
];
const share = (count) => Math.floor(MEGABYTE / count) - 40;

const SHAPES = {
  'lists in lists': `{"output":${'['.repeat(MEGABYTE / 2)}${']'.repeat(MEGABYTE / 2)}}`,
  'lists that never end': '['.repeat(MEGABYTE),
  'objects in objects': `${'{"data":'.repeat(MEGABYTE / 9)}{}${'}'.repeat(MEGABYTE / 9)}`,
  'objects that never end': '{"data":'.repeat(MEGABYTE / 8),
  'one long string': json({ task_id: 'a', message: 'm'.repeat(MEGABYTE) }),
  'one long string beside a long integer': `{"task_id":1234567890123456789,"message":"${'m'.repeat(MEGABYTE)}"}`,
  'one string of quotes': `{"task_id":1234567890123456789,"message":"${repeated('\\"')}"}`,
  'one string of backslashes': `{"task_id":1234567890123456789,"message":"${repeated('\\\\')}"}`,
  'blanks, then a word': json({ status: `${' '.repeat(MEGABYTE)}x`, message: `${' '.repeat(MEGABYTE)}x` }),
  'only blanks': ' '.repeat(MEGABYTE),
  'many keys': `{${Array.from({ length: 60_000 }, (_, at) => `"key${at}":${at}`).join(',')}}`,
  'the same key': `{${repeated('"data":{}', ',')}}`,
  'one integer': `{"task_id":${'9'.repeat(MEGABYTE)}}`,
  'many long integers': `{"task_id":1,"list":[${repeated('1234567890123456789', ',')}]}`,
  'many short integers': `{"task_id":1234567890123456789,"list":[${repeated('7', ',')}]}`,
  'minus signs and points': `{"task_id":1234567890123456789,"list":[${repeated('-1.5e-7', ',')}]}`,
  'endless digits': `{"a":${repeated('-1.e+')}`,
  'digits in a string': json({ task_id: '9'.repeat(MEGABYTE) }),
  'JSON in strings in strings': jsonInStrings(),
  'JSON in a string in every field': filled(FIELDS, json({ a: 'x'.repeat(share(FIELDS.length)) })),
  'the same JSON string in every holder': filled(HOLDERS, filled(FIELDS, 'x'.repeat(share(150)))),
  'one long JSON string in data': json({ data: json({ list: Array(60_000).fill(1), id: 'a' }) }),
  'one long JSON string in output': json({ output: json({ list: Array(60_000).fill(1) }) }),
  'one JSON string in error': json({ error: json({ list: Array(200_000).fill(1234) }) }),
  'strings that start like JSON': filled(FIELDS, `{${'['.repeat(share(FIELDS.length))}`),
  'a list of JSON strings': json({ videos: Array(100).fill(json({ a: 'x'.repeat(9_000) })) }),
  'a list of JSON strings in every holder': filled(HOLDERS, {
    videos: Array(100).fill(json({ a: 'x'.repeat(2_000) })),
  }),
  'a list of links': json({ outputs: Array(MEGABYTE / 50).fill(LINK) }),
  'a list of 100,000 links': json({ outputs: Array(100_000).fill('http://a/') }),
  'a list of invalid links': json({ outputs: Array(60).fill(`https://[${'a'.repeat(15_900)}`) }),
  'an endless link': json({ video_url: `https://${'a.'.repeat(MEGABYTE / 2)}` }),
  'an endless percentage': json({ progress: `${'1'.repeat(MEGABYTE)} %` }),
  'an endless state': json({ status: '_ '.repeat(MEGABYTE / 2) }),
  HTML: `<html>${repeated('<p>{"task_id":1}</p>')}</html>`,
};

const PROFILE = {
  read: {
    within: ['data', 'a.b.c'],
    video: ['videos[].a[].b', 'outputs[]'],
    state: 'phase',
    message: 'error[]',
  },
  states: { succeeded: [1] },
};

/** Sorted times, with the default rules and with those of a profile. */
function readingTimes(body) {
  const ms = [];
  for (const rules of [undefined, readingRules(PROFILE)]) {
    for (let run = 0; run < RUNS; run++) {
      const startedAt = process.cpuUsage();
      traceAnswer({ status: 200, body, baseUrl: 'https://api.example.com' }, rules);
      const { user, system } = process.cpuUsage(startedAt);
      ms.push((user + system) / 1000);
    }
  }
  return ms.sort((a, b) => a - b);
}

const results = Object.entries(SHAPES)
  .map(([shape, body]) => {
    const ms = readingTimes(body);
    return { shape, bytes: body.length, slowest: ms.at(-1), median: ms[RUNS] };
  })
  .sort((a, b) => b.slowest - a.slowest);
process.stdout.write(' slowest    median\n');
for (const { shape, bytes, slowest, median } of results) {
  const [slowestText, medianText] = [slowest, median].map((ms) => `${ms.toFixed(1).padStart(5)} ms`);
  process.stdout.write(`${slowestText}  ${medianText}  ${(bytes / MEGABYTE).toFixed(2)} MB  ${shape}\n`);
}
process.exitCode = results.some(({ slowest }) => slowest > LIMIT_MS) ? 1 : 0;
