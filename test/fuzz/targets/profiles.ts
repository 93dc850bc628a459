import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { readSetting } from '../../../src/config/settings';
import type { VideoRequest } from '../../../src/contract/request';
import { mapRequest, readingRules, traceAnswer } from '../../../src/service';
import { BUILT_IN_PROFILES, builtInProfile } from '../../../src/service/built-in-profiles';
import { fc } from '../../support/properties';
import { anyText, edited, fields, jsonValue, longText, weighted } from '../hostile';
import { KEY } from '../secrets';
import type { Target } from '../target';

const PROFILE: Record<string, readonly unknown[]> = {
  name: ['fox'],
  paths: [{ task: '/v1/tasks/{taskId}' }, { textToVideo: '/v1/videos' }, { task: 'x' }],
  auth: [{ header: 'X-Key', scheme: '' }],
  idempotencyHeader: [null, 'X-Idempotency'],
  requestFields: [['style'], ['__proto__', 'a.b']],
  request: [
    { within: 'input', fields: { duration: { to: 'input.seconds', as: '{value}s' }, seed: { to: null } } },
    { fields: { prompt: { to: 'content[0].text' } }, constants: { 'content[0].type': 'text' } },
    { fields: { resolution: { with: ['aspect_ratio'], to: 'size', values: { '720p 16:9': '1280x720' } } } },
    { fields: { prompt: { to: 'a[20].b' }, seed: { to: 'a.b' } } },
    { constants: { '__proto__.x': 1 } },
  ],
  read: [
    { taskId: 'data.task_id', state: ['data.status', 'status'] },
    { video: 'videos[].url' },
    { state: '..' },
  ],
  states: [{ running: ['busy', 3] }, { failed: [] }],
  refusals: [{ limited: [{ status: 400, says: 'slow' }], codes: { '1302': 429 } }],
  video: [{ path: '/v1/tasks/{taskId}/content' }, { id: 'file', path: '/f/{fileId}', link: 'url' }],
  cancel: [{ method: 'DELETE', path: '/v1/tasks/{taskId}' }],
  polling: [{ min: '2s', max: '1m' }],
};

/** A key as it was pasted, with more than a header can have. */
const headers = fc
  .constantFrom(KEY, `${KEY}\n`, `狐${KEY}`)
  .map((key) => ({ 'x-api-key': key, 'x-version': '2' }));
const profile = fc
  .tuple(headers, fields(PROFILE, jsonValue))
  .map(([own, given]) => ({ headers: own, ...given }));

const YAMLS = [
  ...BUILT_IN_PROFILES.map((name) => stringify(builtInProfile(name))),
  'a: &a [x, x]\nb: &b [*a, *a]\nname: *b\n',
  '? complex\n: - 1\n  - !!binary aGk=\n<<: { name: x }\n',
  '%YAML 1.2\n---\nname: !tag fox\n...\n',
];

const REQUEST: VideoRequest = {
  prompt: 'A red fox',
  resolution: '720p',
  aspect_ratio: '16:9',
  duration: 5,
  seed: 7,
};

const LEVELS = 12;
/** Each level names the one before it nine times. */
const BOMB = Array.from({ length: LEVELS }, (_, level) =>
  level === 0 ? 'a0: &a0 [x]' : `a${level}: &a${level} [${`*a${level - 1},`.repeat(9)}]`,
).join('\n');

const joined = (parts: string[]) => parts.join('');

export const profiles: Target<string> = {
  inputs: weighted(
    [4, profile.map((given) => JSON.stringify(given))],
    [4, fc.constantFrom(...YAMLS, BOMB).chain(edited)],
    [1, anyText],
    [1, fc.tuple(fc.constantFrom('name: ', 'read:\n  taskId: ', 'states: ', ''), longText).map(joined)],
  ),
  plain: JSON.stringify({ name: 'fox', paths: { task: '/v1/tasks/{taskId}' } }),
  inSuite: 80,
  feed(text, folder) {
    const file = join(folder, 'profile.yaml');
    writeFileSync(file, text);
    try {
      const read = readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE: file }) ?? {};
      const reading = traceAnswer(
        { status: 200, body: '{"data":{"task_id":"t","status":"busy"}}' },
        readingRules(read),
      );
      const mapped = mapRequest(read, REQUEST);
      return { texts: [JSON.stringify(reading), JSON.stringify(mapped)] };
    } finally {
      // It may have the key in it, and is not ours.
      writeFileSync(file, '');
    }
  },
};
