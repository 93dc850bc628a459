import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VARIABLES } from '../src/config/settings';
import { isPinned, parseCompose, parseDockerfile, withoutDigest } from './support/compose-file';
import { type Mistake, ruleNamed, rulesWithoutMistake } from './support/rule-named';

const root = join(__dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const composeText = read('docker-compose.yml');
const dockerfile = read('Dockerfile');
const dockerignore = read('.dockerignore');
const SETTING_NAMES = new Set(VARIABLES);
const manifest = JSON.parse(read('package.json'));
const MAIN = manifest.bin.videogen.replace('./', '');

/** The folders that a stage creates, and the step that creates each. */
const CREATED_BY: Record<string, string> = {
  '/app/dist': 'npm run build',
  '/app/node_modules': 'node scripts/runtime-packages.cjs',
};

const OF_NODE_AND_LIBC = ['NODE_ENV', 'MALLOC_ARENA_MAX'];

const IMAGE_RULES: Record<string, (dockerfile: string, dockerignore: string) => string[]> = {
  'copies only files that exist and that .dockerignore includes': (text, ignore) => {
    const included = ignore.split('\n').filter((line) => line.startsWith('!'));
    return parseDockerfile(text)
      .flatMap(({ copies }) => copies.flatMap(({ from, sources }) => (from === undefined ? sources : [])))
      .filter((source) => !existsSync(join(root, source)) || !included.includes(`!${source}`));
  },

  'excludes everything that .dockerignore does not name': (_text, ignore) =>
    ignore
      .split('\n')
      .filter((line) => line !== '' && !/^(#.*|\*|![\w.-]+)$/.test(line))
      .concat(ignore.includes('\n*\n') ? [] : ['everything else is included']),

  'copies from other stages only what they create': (text) => {
    const stages = parseDockerfile(text);
    return stages.flatMap(({ copies }) =>
      copies.flatMap(({ from, sources }) => {
        if (from === undefined) return [];
        const made = stages.find(({ name }) => name === from)?.instructions.RUN;
        return sources.filter((source) => made === undefined || CREATED_BY[source] !== made);
      }),
    );
  },

  'runs scripts that package.json has': (text) =>
    [...text.matchAll(/npm run (\S+)/g)]
      .map(([, script = '']) => script)
      .filter((script) => manifest.scripts[script] === undefined),

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

  "has the root certificates without which the worker's core cannot use TLS": (text) => {
    const [last = ''] = text.split('\nFROM ').slice(-1);
    return /apt-get install .*\bca-certificates\b/.test(last) ? [] : ['there are no root certificates'];
  },

  'runs without privileges': (text) => {
    const user = parseDockerfile(text).at(-1)?.instructions.USER;
    return user === parseCompose(composeText).services.worker?.user ? [] : [`runs as ${user}`];
  },

  'starts the CLI as a worker, without a shell in between': (text) => {
    const { ENTRYPOINT, CMD } = parseDockerfile(text).at(-1)?.instructions ?? {};
    const expected = [JSON.stringify(['node', `/app/${MAIN}`]).replace(',', ', '), '["worker"]'];
    return [ENTRYPOINT, CMD].filter((given, index) => given !== expected[index]).map(String);
  },

  'has the labels of package.json': (text) => {
    const label = parseDockerfile(text).at(-1)?.instructions.LABEL ?? '';
    return Object.entries({ title: 'name', description: 'description', licenses: 'license' })
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
    ['a missing source', 'COPY src ', 'COPY source ', 'copies only'],
    ['an ignored source', 'COPY src ', 'COPY test ', 'copies only'],
    ['an unknown stage', '--from=build', '--from=builder', 'copies from'],
    ['a folder that no stage creates', '/app/dist ', '/app/out ', 'copies from'],
    ['development packages', 'RUN node scripts/runtime-packages.cjs', '', 'copies from'],
    [
      'packages without the peers',
      'node scripts/runtime-packages.cjs',
      'npm prune --omit=dev',
      'copies from',
    ],
    ['an unknown script', 'npm run build', 'npm run compile', 'runs scripts'],
    ['two versions of Node', /:22\.[\d.]+/, ':20.18.1', 'builds every stage'],
    ['no exact version', /:22\.[\d.]+/g, ':22', 'builds every stage'],
    ['no glibc', /-bookworm-slim/g, '-alpine', 'builds every stage'],
    ['no root certificates', ' ca-certificates', ' curl', 'has the root'],
    ['no user', /USER .*/, '', 'runs without'],
    ['a root user', /USER .*/, 'USER 0:0', 'runs without'],
    ['a shell', /ENTRYPOINT .*/, 'ENTRYPOINT node /app/dist/src/cli/main.js', 'starts the CLI'],
    ['another program', 'cli/main.js', 'cli/index.js', 'starts the CLI'],
    ['another command', 'CMD ["worker"]', 'CMD ["dev"]', 'starts the CLI'],
    ['another licence', 'licenses="MIT"', 'licenses="ISC"', 'has the labels'],
    ['an unknown variable', 'VIDEOGEN_STORAGE', 'VIDEOGEN_STORE', 'sets only'],
  ];
  const BROKEN_IGNORE: Mistake[] = [
    ['a source that is not included', '!workflows\n', '', 'copies only'],
    ['everything included', '\n*\n', '\n', 'excludes everything'],
    ['a pattern', '!src', '!s*', 'excludes everything'],
  ];

  const refuses = (rule: string, text: string, ignore: string) => {
    expect([text, ignore]).not.toEqual([dockerfile, dockerignore]);
    expect(IMAGE_RULES[ruleNamed(IMAGE_RULES, rule)]?.(text, ignore)).not.toEqual([]);
  };

  it.each(BROKEN)('with %s is refused', (_what, search, replacement, rule) => {
    refuses(rule, dockerfile.replace(search, replacement), dockerignore);
  });

  it.each(BROKEN_IGNORE)('with %s in .dockerignore is refused', (_what, search, replacement, rule) => {
    refuses(rule, dockerfile, dockerignore.replace(search, replacement));
  });

  it('has a mistake for each rule', () => {
    expect(rulesWithoutMistake(IMAGE_RULES, [...BROKEN, ...BROKEN_IGNORE])).toEqual([]);
  });
});
