import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Ajv from 'ajv';
import manifest from '../package.json';
import { settingProblems } from '../src/config/operation-config';
import { VARIABLES } from '../src/config/settings';
import { SUBMIT_POLICY } from '../src/contract/policies';
import { RELEASE } from '../src/temporal-server/find-server';
import {
  type ComposeFile,
  type ComposeService,
  isPinned,
  parseCompose,
  parseDockerfile,
  withoutDigest,
} from './support/compose-file';
import { expectRefused, type Mistake, ruleNamed, rulesWithoutMistake } from './support/rules';

const root = join(__dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const composeText = read('docker-compose.yml');
const SETTING_NAMES = new Set(VARIABLES);

/** The schema of the compose specification, from dclint. */
const schema = JSON.parse(
  readFileSync(join(dirname(require.resolve('dclint/package.json')), 'schemas/compose.schema.json'), 'utf8'),
);
// It is draft 7 under a URL that ajv does not know, with Docker's own formats.
const followsSchema = new Ajv({ allErrors: true, strict: false, validateFormats: false }).compile({
  ...schema,
  $schema: undefined,
});

/** A rule returns one line per problem. */
type Rule = (compose: ComposeFile) => string[];

const each = (
  { services }: ComposeFile,
  problems: (service: ComposeService, name: string) => (string | false | undefined)[],
): string[] =>
  Object.entries(services).flatMap(([name, service]) =>
    problems(service, name)
      .filter((problem) => typeof problem === 'string')
      .map((problem) => `${name}: ${problem}`),
  );

const ours: typeof each = (compose, problems) =>
  each(compose, (service, name) => (service.build === undefined ? [] : problems(service, name)));

function seconds(duration = '10s'): number {
  const [, minutes = '0', rest = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration) ?? [];
  return Number(minutes) * 60 + Number(rest);
}

/** The storage, unless `.env` says another. */
const folderOf = ({ environment = {} }: ComposeService) =>
  /^\$\{VIDEOGEN_STORAGE:-(.*)\}$/.exec(environment.VIDEOGEN_STORAGE ?? '')?.[1];

/** The commands that need its key. */
const CALLERS_OF_THE_SERVICE = ['worker', 'emulator'];

const RULES: Record<string, Rule> = {
  'follows the compose specification': (compose) =>
    followsSchema(compose)
      ? []
      : (followsSchema.errors ?? []).map(
          ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
        ),

  'starts without its profiles': (compose) =>
    each(compose, ({ depends_on = {}, profiles = [] }) =>
      Object.entries(depends_on).map(([name, { required = true }]) => {
        const missing = (compose.services[name]?.profiles ?? []).some((its) => !profiles.includes(its));
        return missing && required && `needs ${name}, which exists only under a profile`;
      }),
    ),

  'sets only variables that the code reads': (compose) =>
    ours(compose, ({ environment = {} }) =>
      Object.keys(environment).map((name) => !SETTING_NAMES.has(name) && `the code does not read ${name}`),
    ),

  'publishes to loopback only': (compose) =>
    each(compose, ({ ports = [] }) =>
      ports.map((port) => !/^127\.0\.0\.1:\d+:\d+$/.test(port) && `publishes ${port}`),
    ),

  'mounts only folders and files that the repository has, which nobody can write': (compose) =>
    each(compose, ({ volumes = [] }) =>
      volumes
        .filter((volume) => volume.startsWith('./'))
        .map((volume) => {
          const [source = '', target, mode] = volume.split(':');
          const isSame = target === source.slice(1) && mode === 'ro';
          return !(isSame && existsSync(join(root, source))) && `mounts ${volume}`;
        }),
    ),

  'reads every setting from .env': ({ services: { worker, gateway } }) =>
    [worker, gateway].flatMap((service) => {
      const [file] = service?.env_file ?? [];
      return file?.path === '.env' && file.required === false ? [] : ['a setting means an edit of this file'];
    }),

  'keeps the key of the service from those who do not call it': (compose) =>
    ours(compose, ({ environment = {}, volumes = [], env_file, command: [command = ''] = [] }) => {
      const hasSecrets = volumes.some((volume) => volume.startsWith('./secrets'));
      const isBlank = environment.VIDEO_API_KEY === '' && environment.VIDEO_API_KEY_FILE === '';
      const isCaller = CALLERS_OF_THE_SERVICE.includes(command);
      return [
        Boolean(environment.VIDEO_API_KEY) && 'the key is in this file',
        isCaller && !hasSecrets && 'has no key',
        !isCaller && hasSecrets && 'has the key of the service',
        !isCaller && env_file && !isBlank && 'gets the key from .env',
      ];
    }),

  'has no password in it': (compose) =>
    each(compose, ({ environment = {} }) =>
      Object.keys(environment).map((name) => /(PASSWORD|PWD)$/.test(name) && `${name} is a password`),
    ),

  'tells the worker where the service fetches images: at the gateway, unless an address is given': ({
    services,
  }) => {
    const port = services.gateway?.command?.at(-1);
    const address = services.worker?.environment?.VIDEOGEN_GATEWAY_URL;
    const expected = `\${GATEWAY_URL_FOR_SERVICE:-\${VIDEOGEN_GATEWAY_URL:-http://gateway:${port}}}`;
    return address === expected ? [] : [`worker: VIDEOGEN_GATEWAY_URL is ${address}, not ${expected}`];
  },

  'pins every image': (compose) =>
    each(compose, ({ build, image = '' }) => [
      build === undefined && !isPinned(image) && `${image} is not one version`,
    ]),

  'runs the Temporal version of the dev server, with its schema': ({ services }) => {
    const { server: version } = RELEASE;
    return Object.values(services)
      .map(({ image = '' }) => withoutDigest(image))
      .filter((image) => /^temporalio\/(server|admin-tools):/.test(image) && !image.endsWith(`:${version}`))
      .map((image) => `${image} is not ${version}`);
  },

  'runs our services under an init, without privileges, on a read-only root': (compose) =>
    ours(compose, ({ user = '', init, read_only, tmpfs = [] }) => [
      !/^[1-9]\d*:[1-9]\d*$/.test(user) && `runs as ${user || 'the user of the image'}`,
      !init && 'is process 1 and may ignore SIGTERM',
      !read_only && 'can write to its root',
      !tmpfs.includes('/tmp') && 'has no /tmp',
    ]),

  'stores videos in a volume': ({ services: { worker } }) =>
    worker?.volumes?.includes(`videos:${folderOf(worker)}`)
      ? []
      : ['worker: the videos are lost with the container'],

  'lets a worker finish its submits before it is killed': ({ services: { worker } }) =>
    seconds(worker?.stop_grace_period) * 1_000 > SUBMIT_POLICY.startToCloseTimeout
      ? []
      : [`worker: is killed after ${worker?.stop_grace_period}`],
};

describe('docker-compose.yml', () => {
  it.each(Object.keys(RULES))('%s', (rule) => {
    expect(RULES[rule]?.(parseCompose(composeText))).toEqual([]);
  });

  it('keeps its rules with images that are pinned by digest', () => {
    const pinned = composeText.replaceAll(/^ *image: .*:\d.*$/gm, `$&@sha256:${'0f'.repeat(32)}`);
    expect(pinned).not.toBe(composeText);
    expect(Object.values(RULES).flatMap((rule) => rule(parseCompose(pinned)))).toEqual([]);
  });

  /** Mistakes, and the rule that refuses each. */
  const BROKEN: Mistake[] = [
    ['a misspelt key', 'healthcheck:', 'healthchek:', 'follows the compose specification'],
    ['a service that needs a profile', ', required: false', '', 'starts without'],
    ['an unknown variable', 'VIDEOGEN_STORAGE:', 'VIDEOGEN_STORE:', 'sets only variables'],
    ['a public port', '"127.0.0.1:7233:7233"', '"7233:7233"', 'publishes to loopback'],
    ['a folder that is not there', './settings:/settings', './setting:/setting', 'mounts only'],
    ['a folder that can be written', ':/secrets:ro', ':/secrets', 'mounts only'],
    ['settings from elsewhere', 'path: .env', 'path: settings.env', 'reads every setting'],
    [
      'the key in the environment',
      'VIDEOGEN_STORAGE:',
      'VIDEO_API_KEY: abc\n      VIDEOGEN_STORAGE:',
      'keeps the key',
    ],
    ['the key of .env for the gateway', 'VIDEO_API_KEY_FILE: ""', '', 'keeps the key'],
    [
      'a password',
      'POSTGRES_PASSWORD_FILE: /password/password',
      'POSTGRES_PASSWORD: temporal',
      'has no password',
    ],
    ['a gateway at another address', 'http://gateway:8787', 'http://gateway:8788', 'tells the worker'],
    ['an image without a version', 'temporalio/ui:2.54.1', 'temporalio/ui', 'pins every image'],
    ['a server of another version', /server:[\d.]+/, 'server:1.30.0', 'runs the Temporal version'],
    ['a root user', '"1000:1000"', '"0:0"', 'runs our services'],
    ['a writable root', 'read_only: true', 'read_only: false', 'runs our services'],
    ['videos outside of the volume', 'videos:/videos\n', 'videos:/video\n', 'stores videos'],
    ['a short grace period', 'stop_grace_period: 2m30s', 'stop_grace_period: 90s', 'lets a worker finish'],
  ];

  it.each(BROKEN)('with %s is refused', (...mistake) => {
    expectRefused(RULES, parseCompose, composeText, mistake);
  });

  it('has a mistake for each rule', () => {
    expect(rulesWithoutMistake(RULES, BROKEN)).toEqual([]);
  });
});

describe('.env.example', () => {
  const example = read('.env.example');
  const linesOf = (pattern: RegExp) =>
    Array.from(example.matchAll(pattern), ([, name = '', value = '']) => [name, value]);
  const active = Object.fromEntries(linesOf(/^([A-Z_]+)=(.*)$/gm));

  it('starts with the emulator', () => {
    const { emulator } = parseCompose(composeText).services;
    expect(active).toEqual({
      COMPOSE_PROFILES: emulator?.profiles?.join(),
      VIDEO_API_BASE_URL: `http://emulator:${emulator?.command?.at(-1)}`,
      VIDEO_API_KEY_FILE: emulator?.environment?.VIDEO_API_KEY_FILE,
    });
    expect(existsSync(join(root, active.VIDEO_API_KEY_FILE ?? ''))).toBe(true);
  });

  it('has valid settings in its comments, and files in the folders that are mounted', () => {
    const shown = linesOf(/^#([A-Z_]+)=(.*)$/gm).filter(([name]) => !/^(AWS_|GATEWAY_URL_)/.test(name ?? ''));
    expect(shown.map(([name]) => name).filter((name) => !SETTING_NAMES.has(name ?? ''))).toEqual([]);
    const [files, values] = [true, false].map((isFile) =>
      shown.filter(([, value]) => value?.startsWith('/') === isFile),
    );
    for (const [, file] of files ?? []) expect(file).toMatch(/^\/(secrets|settings)\/[a-z.-]+$/);
    const secret = `whsec_${Buffer.alloc(32).toString('base64')}`;
    const settings = { ...Object.fromEntries(values ?? []), VIDEOGEN_WEBHOOK_SECRET: secret };
    expect(settingProblems(settings)).toEqual([]);
  });
});

test('what stands in for the images, and what bench:cluster measures, is of the versions of the images', () => {
  const pins = read('test/support/temporal-cluster/go.mod');
  const pinned = (module: string) => pins.split(`\t${module} v`)[1]?.split(/\s/)[0];
  const tagOf = (service: string) =>
    withoutDigest(parseCompose(composeText).services[service]?.image ?? '').split(':')[1];
  expect(pinned('go.temporal.io/server')).toBe(tagOf('temporal'));
  expect(pinned('github.com/temporalio/ui-server/v2')).toBe(tagOf('temporal-ui'));
});

const dockerfile = read('Dockerfile');
const dockerignore = read('.dockerignore');
const OF_NODE_AND_LIBC = ['NODE_ENV', 'MALLOC_ARENA_MAX'];

const IMAGE_RULES: Record<string, (dockerfile: string, dockerignore: string) => string[]> = {
  'excludes everything that .dockerignore does not name': (_text, ignore) =>
    ignore
      .split('\n')
      .filter((line) => line !== '' && !/^(#.*|\*|![\w.-]+)$/.test(line))
      .concat(ignore.includes('\n*\n') ? [] : ['everything else is included']),

  'builds every stage on one pinned Node that the package supports, with glibc': (text) => {
    const stages = parseDockerfile(text);
    const ofOthers = stages
      .map(({ image }) => image)
      .filter((image) => !stages.some(({ name }) => name === image));
    const images = [...new Set(ofOthers)];
    const fits = (image: string) =>
      isPinned(image) && /^node:2\d\.\d+\.\d+-\w+-slim$/.test(withoutDigest(image));
    return images.length === 1 ? images.filter((image) => !fits(image)) : images;
  },

  'takes the packages that run, and not those of development': (text) => {
    const stages = parseDockerfile(text);
    const { from } = stages.at(-1)?.copies.find(({ sources }) => sources.includes('/app/node_modules')) ?? {};
    const { RUN } = stages.find(({ name }) => name === from)?.instructions ?? {};
    return RUN === 'node scripts/runtime-packages.cjs' ? [] : [`takes packages from ${from}: ${RUN}`];
  },

  'runs without privileges': (text) => {
    const user = parseDockerfile(text).at(-1)?.instructions.USER;
    return user === parseCompose(composeText).services.worker?.user ? [] : [`runs as ${user}`];
  },

  'has the labels of package.json': (text) => {
    const label = parseDockerfile(text).at(-1)?.instructions.LABEL ?? '';
    return Object.entries({ title: 'name', description: 'description', licenses: 'license' } as const)
      .filter(([key, field]) => !label.includes(`org.opencontainers.image.${key}="${manifest[field]}"`))
      .map(([key]) => `the label ${key} differs`);
  },

  'sets only variables that the code reads': (text) =>
    (parseDockerfile(text).at(-1)?.instructions.ENV ?? '')
      .split(' ')
      .map((setting) => setting.split('=')[0] ?? '')
      .filter((name) => !OF_NODE_AND_LIBC.includes(name) && !SETTING_NAMES.has(name)),
};

describe('Dockerfile', () => {
  it.each(Object.keys(IMAGE_RULES))('%s', (rule) => {
    expect(IMAGE_RULES[rule]?.(dockerfile, dockerignore)).toEqual([]);
  });

  const BROKEN: Mistake[] = [
    ['two versions of Node', /:22\.[\d.]+/, ':20.18.1', 'builds every stage'],
    ['no glibc', /-bookworm-slim/g, '-alpine', 'builds every stage'],
    ['development packages', 'node scripts/runtime-packages.cjs', 'npm ci', 'takes the packages'],
    ['a root user', /USER .*/, 'USER 0:0', 'runs without'],
    ['another licence', 'licenses="MIT"', 'licenses="ISC"', 'has the labels'],
    ['an unknown variable', 'VIDEOGEN_STORAGE', 'VIDEOGEN_STORE', 'sets only'],
  ];
  const BROKEN_IGNORE: Mistake[] = [
    ['everything included by .dockerignore', '\n*\n', '\n', 'excludes everything'],
    ['a pattern in .dockerignore', '!src', '!s*', 'excludes everything'],
  ];

  it.each([...BROKEN, ...BROKEN_IGNORE])('with %s is refused', (what, search, replacement, rule) => {
    const isIgnore = what.includes('.dockerignore');
    const text = isIgnore ? dockerfile : dockerfile.replace(search, replacement);
    const ignore = isIgnore ? dockerignore.replace(search, replacement) : dockerignore;
    expect([text, ignore]).not.toEqual([dockerfile, dockerignore]);
    expect(IMAGE_RULES[ruleNamed(IMAGE_RULES, rule)]?.(text, ignore)).not.toEqual([]);
  });

  it('has a mistake for each rule', () => {
    expect(rulesWithoutMistake(IMAGE_RULES, [...BROKEN, ...BROKEN_IGNORE])).toEqual([]);
  });
});
