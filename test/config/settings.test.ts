import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingProblems } from '../../src/config/operation-config';
import type { Setting } from '../../src/config/read-setting';
import { SETTING_NAMES, SETTINGS } from '../../src/config/settings';

const ROOT = join(__dirname, '../..');
const all = Object.values(SETTINGS).flatMap((group) => Object.entries<Setting>(group));

/** Names of our settings in the code of a folder; comments may show misspelt ones. */
function namesIn(folder: string): string[] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const code = files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(ROOT, folder, file)));
  return [
    ...new Set(
      code
        .join('\n')
        .replace(/^\s*\/?[/*].*$/gm, '')
        .match(/\bVIDEO(?:_API|GEN)_[A-Z0-9_]*[A-Z0-9]\b/g),
    ),
  ].sort();
}

describe('the table of settings', () => {
  it.each(['src', 'activities', 'workflows'])('has every variable that a message in %s names', (folder) => {
    expect(namesIn(folder).filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
  });

  it.each(all)('explains %s in whole sentences', (_name, { meaning, fix, type, unset }) => {
    expect(meaning).toMatch(/^[A-Z`].*\.( \[More\]\([a-z0-9.#-]+\))?$/);
    if (fix !== undefined) expect(fix).toMatch(/^[a-z].*[^.]$/);
    // A default that the type has is not written down twice.
    if (typeof type.parse(undefined) === 'string') expect(unset).toBeUndefined();
  });
});

describe('the problems of an environment', () => {
  it('are none when nothing is set, or only blank', () => {
    expect(settingProblems({})).toEqual([]);
    const mayBeBlank = all.filter(([, { refusesBlank }]) => !refusesBlank);
    expect(settingProblems(Object.fromEntries(mayBeBlank.map(([name]) => [name, ' '])))).toEqual([]);
  });

  it.each([
    ['VIDEO_API_BASE_URL', 'nonsense'],
    ['VIDEO_API_KEY', 'two words'],
    ['VIDEO_API_KEY_FILE', '/nowhere/key'],
    ['VIDEOGEN_PROFILE', '/nowhere/profile.yaml'],
    ['VIDEOGEN_ON_LOST_SUBMIT', 'retry'],
    ['VIDEOGEN_DOWNLOAD_ALLOW', 'http://host/path'],
    ['VIDEOGEN_TASK_QUEUE', ' '],
    ['VIDEOGEN_SUBMITS_PER_SECOND', '-1'],
    ['VIDEOGEN_STORAGE', 'gs://bucket'],
    ['VIDEOGEN_KEY_TEMPLATE', '../{ext}'],
    ['VIDEOGEN_LARGEST_VIDEO', 'large'],
    ['VIDEOGEN_S3_PATH_STYLE', 'maybe'],
    ['AWS_ENDPOINT_URL_S3', 'minio:9000'],
    ['AWS_ENDPOINT_URL', 'minio:9000'],
    ['VIDEOGEN_GATEWAY_HOOK_SECRET', 'short'],
    ['VIDEOGEN_GATEWAY_HOOK_SECRET_FILE', '/nowhere/secret'],
    ['VIDEOGEN_WEBHOOK_SECRET', 'whsec_c2hvcnQ='],
    ['VIDEOGEN_WEBHOOK_SECRET_FILE', '/nowhere/secret'],
    ['VIDEOGEN_WEBHOOK_URL', 'example.com'],
    ['VIDEOGEN_WEBHOOK_URL', 'https://example.com/webhooks'],
    ['VIDEOGEN_WEBHOOK_ALLOW', 'http://host/path'],
    ['TEMPORAL_ADDRESS', 'user@host:7233'],
    ['TEMPORAL_API_KEY', 'two\nlines'],
    ['TEMPORAL_TLS', 'yes'],
    ['TEMPORAL_CONFIG_FILE', '/nowhere/temporal.toml'],
    ['TEMPORAL_PROFILE', 'unknown'],
    ['VIDEOGEN_SEARCH_ATTRIBUTES', 'maybe'],
    ['VIDEOGEN_MONITOR_PORT', '70000'],
    ['TEMPORAL_DEPLOYMENT_NAME', 'a.b'],
    ['TEMPORAL_WORKER_BUILD_ID', '1'],
  ])('name %s when it is %j, in one line', (name, value) => {
    const needed = name === 'VIDEO_API_BASE_URL' ? { VIDEO_API_KEY: 'sk' } : {};
    const problems = settingProblems({ ...needed, [name]: value });
    expect(problems).toEqual([expect.stringMatching(/^[A-Z]+_[A-Z0-9_]+\b[^\n]+: [a-z][^\n]+\.$/)]);
    expect(problems[0]).toContain(name);
  });

  it('are all found, however many there are', () => {
    const env = {
      VIDEO_API_BASE_URL: 'nonsense',
      VIDEOGEN_STORAGE: 'gs://b',
      VIDEOGEN_S3_PATH_STYLE: 'maybe',
    };
    expect(settingProblems(env).map((line) => line.split(' ')[0])).toEqual([
      'VIDEO_API_BASE_URL',
      'VIDEOGEN_STORAGE',
      'VIDEOGEN_S3_PATH_STYLE',
      'VIDEO_API_KEY',
    ]);
  });
});
