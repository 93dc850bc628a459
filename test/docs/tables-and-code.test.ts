import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ModuleKind, transpileModule } from 'typescript';
import * as cluster from '../../bench/cluster.cjs';
import { drawReport, pageOf, REPORT, replacePart } from '../../bench/support/page.cjs';
import { exports as entryPoints } from '../../package.json';
import { readEncryptionKeys } from '../../src/config/operation-config';
import { FAILURES } from '../../src/contract/failure-table';
import { FALLBACK_FIELDS, JOB_FIELDS } from '../../src/contract/input-rules';
import { parseJobInput } from '../../src/contract/job-input';
import { LOG_EVENTS } from '../../src/contract/log-events';
import { COUNTERS, HISTOGRAMS } from '../../src/contract/metrics';
import { ASPECT_RATIOS, MAX_DURATION_SECONDS, RESOLUTIONS, requestSchema } from '../../src/contract/request';
import { createGatewayMetrics } from '../../src/gateway/watch-requests';
import { signWebhook } from '../../src/service';
import { SCENARIOS, whatWasRun } from '../ai-sdk/providers/what-runs';
import { runHere } from '../cli/cli-here';
import { COMMANDS } from '../compose/commands';
import * as compose from '../compose/page';
import { blocksOf, pageNames, readPage, readReadme, readSkill, sectionOf } from '../support/docs-page';
import { WEBHOOK_SECRET } from '../support/webhook-receiver';
import { answerTable, breakList, failureTable, settingsTable } from './documented-tables';

const ROOT = join(__dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

const sources = ['src', 'workflows', 'activities'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file: join(folder, file), text: read(join(folder, file)) })),
);

describe('a table that is generated from the code', () => {
  /** Each between two comments of its page. */
  const TABLES: [name: string, page: string, table: string][] = [
    ['failures', 'failures.md', failureTable()],
    ['answers', 'failures.md', answerTable()],
    ['settings', 'configuration.md', settingsTable()],
    ['ai-sdk-packages', 'ai-sdk.md', whatWasRun()],
    ['breaks', 'proof.md', breakList()],
  ];

  it.each(TABLES)('is on its page, and is printed to be pasted if it differs: %s', (name, page, table) => {
    const part = `<!-- ${name}:start -->\n${table}\n<!-- ${name}:end -->`;
    if (!readPage(page).includes(part))
      throw new Error(`docs/${page} and the code differ. Paste this instead of its ${name}:\n\n${part}\n`);
  });
});

test('the page about the command line names the exit codes of failed jobs', () => {
  const [, ranges = ''] = /^\| ([\d, to]+) \| The job failed/m.exec(readPage('cli.md')) ?? [];
  const documented = ranges.split(', ').flatMap((range) => {
    const [first = 0, last = first] = range.split(' to ').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  // 2 has a row of its own: a refused request is a wrong option too.
  const { InvalidRequest, ...others } = FAILURES;
  const codes = Object.values(others).map(({ exitCode }) => exitCode);
  expect(documented).toEqual(codes.sort((a, b) => a - b));
});

test('the page about the AI SDK lists the jobs that run with each package', () => {
  const list = `${SCENARIOS.slice(0, -1).join(', ')} and ${SCENARIOS.at(-1)}`;
  expect(readPage('ai-sdk.md').replaceAll('\n', ' ')).toContain(list);
});

describe('the page about your worker', () => {
  const page = readPage('in-your-worker.md');

  /** The names in the first cells of a section's tables, such as `polling` of `polling: { min, max }`. */
  function namesInTables(heading: string): string[] {
    const rows = [...sectionOf(page, heading).matchAll(/^[|] (`.*?) [|]/gm)];
    return rows.flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([\w/-]+)[^`]*`/g)].map(([, name = '']) => name),
    );
  }

  /** The fields and methods of an interface, as its source declares them. */
  function membersOf(file: string, name: string): string[] {
    const [, body] =
      new RegExp(`^export interface ${name}\\b[^{]*\\{\n(.*?)^\\}`, 'ms').exec(read(file)) ?? [];
    if (body === undefined) throw new Error(`${file} has no interface ${name}`);
    return [...body.matchAll(/^ {2}(?:readonly )?(\w+)[?]?[:(]/gm)].map(([, member = '']) => member);
  }

  const CLIENT = 'src/client/video-client.ts';
  const JOB = 'src/contract/job.ts';
  const TABLES: Record<string, string[]> = {
    'With the plugin': [
      ...membersOf('src/worker/video-plugin.ts', 'VideoPluginOptions'),
      ...membersOf('src/worker/video-work.ts', 'VideoWorkOptions'),
      ...membersOf('activities/download/download-video.ts', 'DownloadOptions'),
    ],
    Client: [...membersOf(CLIENT, 'VideoClient'), ...membersOf('src/client/video-job.ts', 'VideoJob')],
    Request: Object.keys(requestSchema.shape),
    Input: ['request', ...Object.keys({ ...JOB_FIELDS, ...FALLBACK_FIELDS })],
    Result: membersOf(JOB, 'JobResult'),
    Progress: membersOf(JOB, 'JobProgress'),
    'Entry points': Object.entries(entryPoints)
      .filter(([, target]) => target.endsWith('.js'))
      .map(([path]) => path.replace('.', 'temporal-videogen')),
  };

  it.each(Object.entries(TABLES))('has every name in the table %s, and no other', (heading, names) => {
    expect(names.length).toBeGreaterThan(3);
    expect([...namesInTables(heading)].sort()).toEqual([...names].sort());
  });

  it('names every option of the client, and the limits of a request', () => {
    const section = sectionOf(page, 'Client');
    const options = membersOf(CLIENT, 'VideoClientOptions');
    expect(options.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
    const list = (values: readonly string[]) => `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
    for (const limit of [list(RESOLUTIONS), list(ASPECT_RATIOS), `at most ${MAX_DURATION_SECONDS}`])
      expect(page).toContain(`${limit}. |`);
  });
});

describe('the page about observability', () => {
  const page = readPage('observability.md');

  it('lists every event at its level, and each is written somewhere', () => {
    const rows = page.matchAll(/^\| (debug|info|warn|error) \| (.+) \|$/gm);
    const shown = [...rows].flatMap(([, level, events = '']) =>
      [...events.matchAll(/(?:^|, )`(\w+)`/g)].map(([, event = '']) => [event, level]),
    );
    const written = Object.entries(LOG_EVENTS).map(([event, { level }]) => [event, level]);
    expect(shown.sort()).toEqual(written.sort());

    const code = sources.filter(({ file }) => file !== 'src/contract/log-events.ts').map(({ text }) => text);
    const isWritten = (event: string) => code.some((text) => text.includes(`'${event}'`));
    expect(Object.keys(LOG_EVENTS).filter((event) => !isWritten(event))).toEqual([]);
  });

  it('lists every line that workflows and activities write, because they write no others', () => {
    const direct = sources
      .filter(({ file }) => /^(workflows|activities)/.test(file) && !file.endsWith('log-event.ts'))
      .filter(({ text }) => /\blog\.(trace|debug|info|warn|error)\(|\bconsole\./.test(text));
    expect(direct.map(({ file }) => file)).toEqual([]);
  });

  it('lists every metric with its kind', async () => {
    const ofGateway = await createGatewayMetrics().registry.getMetricsAsJSON();
    const measured = [
      ...Object.keys(COUNTERS).map((name) => [name, 'counter']),
      ...Object.keys(HISTOGRAMS).map((name) => [name, 'histogram']),
      ...ofGateway.map(({ name, type }) => [name, String(type)]),
      ['videogen_ready', 'gauge'],
    ];
    const [, rows = ''] = page.split(/^\| Metric \|.*\n.*\n/m);
    const [table = ''] = rows.split('\n\n');
    const listed = [...table.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, name, kind]) => [name, kind]);
    expect(listed.sort()).toEqual(measured.sort());
  });
});

describe('figures of a benchmark or a trial', () => {
  const deployment = readPage('deployment.md');
  const performance = readPage('performance.md');
  const report = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

  it('are those that `npm run … -- --page` stored, none edited by hand', () => {
    expect(replacePart(performance, pageOf(report(REPORT)))).toBe(performance);
    expect(drawReport(report(REPORT))).toBe(read('docs/pictures/benchmarks.svg'));
    expect(replacePart(deployment, cluster.partOf(report(cluster.REPORT)), cluster.PART)).toBe(deployment);
    const transcript = compose.transcriptOf(report(compose.REPORT));
    expect(replacePart(deployment, transcript, compose.PART)).toBe(deployment);
  });

  it.each([REPORT, compose.REPORT, cluster.REPORT])('name no machine or folder: %s', (file) => {
    expect(readFileSync(file, 'utf8')).not.toMatch(/\/(home|root|tmp|work|usr)\/|https?:|\blocalhost\b/);
  });
});

describe('the page about deployment', () => {
  const page = readPage('deployment.md');
  const linesOf = (text: string) => blocksOf(text, 'sh').flatMap((block) => block.trim().split('\n'));
  const docker = linesOf(sectionOf(page, 'With Docker Compose'));
  const kubernetes = linesOf(sectionOf(page, 'On Kubernetes'));

  it('has no shell commands but those for Docker Compose, which compose:try runs, and for Kubernetes', () => {
    expect([...docker].sort()).toEqual(Object.values(COMMANDS).sort());
    expect(linesOf(page)).toEqual([...docker, ...kubernetes]);
  });

  it('names what the manifests of Kubernetes have, and says that the commands need a cluster', () => {
    expect(sectionOf(page, 'On Kubernetes')).toContain('these commands need a cluster');
    expect(kubernetes.filter((line) => !/^(kubectl|videogen|docker (build|push)) /.test(line))).toEqual([]);
    const files = kubernetes.flatMap((line) => line.match(/\bdeploy\/\S+/g) ?? []);
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) expect(existsSync(join(ROOT, file))).toBe(true);
    const example = read('deploy/kubernetes/secrets.example.yaml').replaceAll(/^#.*/gm, '');
    const made = kubernetes.flatMap(
      (line) => line.match(/(?<=secret generic )\S+|(?<=--from-file=)[^=]+/g) ?? [],
    );
    expect(example.match(/(?<=^ {2}name: ).*|^ {2}\S+(?=: "")/gm)?.map((name) => name.trim())).toEqual(made);
  });

  it('shows commands that make encryption keys which a process reads', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'videogen-encryption-page-'));
    const before = process.cwd();
    try {
      process.chdir(folder);
      const [block = ''] = blocksOf(sectionOf(page, 'Encryption'), 'console');
      const [command = '', shown = '', exported = ''] = block.trim().split('\n');
      const { code, err } = await runHere(command.replace('$ videogen ', '').split(' '));
      expect([code, err.trim()]).toEqual([0, shown]);
      const [, name = '', value = ''] = /export (\w+)=(.+)$/.exec(exported) ?? [];
      const ring = readEncryptionKeys({ [name]: value.replace('$PWD', folder) });
      expect(ring?.writingId).toBe('2026-11');
    } finally {
      process.chdir(before);
      rmSync(folder, { recursive: true });
    }
  });

  it('has the sentences of the code about payloads that cannot be decrypted', () => {
    const code = read('src/encryption/encryption-codec.ts').replaceAll(/\$\{\w+\}/g, '2026-11');
    const rows = [...page.matchAll(/^\| `(A payload [^`]+)` \|/gm)].map(([, text = '']) => text);
    expect(rows).toHaveLength(4);
    for (const row of rows) expect(code).toContain(row);
  });
});

describe('an exported name', () => {
  interface EntryPoint {
    specifier: string;
    reportFile: string;
  }
  const api: { ENTRY_POINTS: EntryPoint[]; namesInReport(text: string): string[] } =
    require('../../api/entry-points.cjs');
  const reports = api.ENTRY_POINTS.map(({ reportFile }) => read(join('api', reportFile)));
  const names = reports.flatMap(api.namesInReport);

  it('has a doc comment, and a function an example', () => {
    expect(reports.flatMap((report) => report.match(/@public \(undocumented\)\n.*/g) ?? [])).toEqual([]);
    const functions = reports.flatMap((report) => [...report.matchAll(/^export function (\w+)/gm)]);
    expect(functions.length).toBeGreaterThan(15);
    const hasExample = (name: string) => {
      const declared = new RegExp(`((?:^ [*].*\n)+) [*]/\nexport (?:async )?function ${name}\\b`, 'm');
      return sources.some(({ text }) => declared.exec(text)?.[1]?.includes('@example'));
    };
    expect(functions.map(([, name = '']) => name).filter((name) => !hasExample(name))).toEqual([]);
  });

  it('has one entry point', () => {
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(['createVideoClient', 'VideoPlugin', 'VideoFailure']));
  });
});

describe('a snippet', () => {
  const texts = [readReadme(), read('INTEGRATION.md'), ...pageNames().map(readPage)];

  /** The built declarations of the entry points, which the compiler reads in half the time of the sources. */
  const paths = Object.fromEntries(
    Object.entries(entryPoints)
      .filter(([, target]) => target.endsWith('.js'))
      .map(([path, target]) => [
        path.replace('.', 'temporal-videogen'),
        [join(ROOT, target.replace(/[.]js$/, '.d.ts'))],
      ]),
  );
  const typeRoots = [join(ROOT, 'node_modules/@types')];
  const compilerOptions = { noEmit: true, noUnusedLocals: false, paths, rootDir: '/', typeRoots };

  /** The compiler's errors in these files. One program for all, because the types of the packages take most of the time. */
  function errorsIn(files: Record<string, string>): string[] {
    const folder = mkdtempSync(join(tmpdir(), 'videogen-snippets-'));
    try {
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
      for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), code);
      const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['*'], exclude: [] };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
      const args = [join(ROOT, 'node_modules/typescript-7/bin/tsc'), '-p', folder, '--pretty', 'false'];
      const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
      expect(stderr).toBe('');
      return stdout.split('\n').filter((line) => line !== '');
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it('in TypeScript and a program of SKILL.md compile, and one with a mistake does not', () => {
    const snippets = texts.flatMap((text) => blocksOf(text, 'ts'));
    expect(snippets.length).toBeGreaterThan(15);
    const mistaken =
      snippets.find((code) => code.includes('job.result()'))?.replace('result()', 'resulted()') ?? '';
    // Only an ES module has import.meta.
    const endOf = (code: string) => (code.includes('import.meta') ? 'mts' : 'ts');
    const named = snippets.map((code, index) => [`snippet-${index}.${endOf(code)}`, code]);
    // They have no type annotations, so that Node runs them as they are.
    const programs = blocksOf(readSkill(), 'js').map((code, index) => [`program-${index}.mts`, code]);
    expect(programs.length).toBeGreaterThan(2);
    const files = Object.fromEntries([...named, ...programs]);
    expect(errorsIn({ ...files, 'mistaken.ts': mistaken })).toEqual([
      expect.stringMatching(/^mistaken[.]ts.*'resulted' does not exist/),
    ]);
  });

  it('in JSON is a valid job', () => {
    const jobs = texts.flatMap((text) => blocksOf(text, 'json'));
    expect(jobs.length).toBeGreaterThan(1);
    expect(jobs.filter((text) => !parseJobInput(JSON.parse(text)).ok)).toEqual([]);
  });
});

describe('the receiver of webhooks on the page about the gateway', () => {
  const [code = ''] = blocksOf(sectionOf(readPage('gateway.md'), 'A receiver'), 'ts');
  const LISTEN = /^receiver[.]listen[(].*[)];$/m;

  /** The receiver on the page, unchanged but for its port and for what it prints. */
  function createReceiver(print: (type: string, id: string) => void): Server {
    const { outputText } = transpileModule(`${code.replace(LISTEN, '')}\nexport { receiver };`, {
      compilerOptions: { module: ModuleKind.CommonJS },
    });
    const from = (name: string) => require(name.replace(/^temporal-videogen/, '../../src'));
    const exported: { receiver?: Server } = {};
    const program = new Function('require', 'exports', 'process', 'console', outputText);
    program(from, exported, { env: { VIDEOGEN_WEBHOOK_SECRET: WEBHOOK_SECRET } }, { log: print });
    if (exported.receiver === undefined) throw new Error('the page has no receiver');
    return exported.receiver;
  }

  it('handles an event once and refuses a wrong signature', async () => {
    expect(code).toMatch(LISTEN);
    const handled: string[] = [];
    const server = createReceiver((type, id) => handled.push(`${type} ${id}`));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const body = JSON.stringify({ type: 'video.completed', timestamp: '2026-01-01', data: { id: 'fox-1' } });
    const headers = signWebhook('webhook_1', body, { secret: WEBHOOK_SECRET });
    const send = async (text: string) =>
      (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: text, headers })).status;
    expect([await send(body), await send(body), await send(`${body} `)]).toEqual([204, 204, 400]);
    expect(handled).toEqual(['video.completed fox-1']);
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  });
});

test('the line of cron on the page about storage removes old videos, sidecars and images, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-cron-'));
  const daysAgo = {
    'videos/old.mp4': 40,
    'videos/old.mp4.json': 40,
    'videos/red/old.mp4': 40,
    'images/shop/old.png': 40,
    'images/link-secret': 40,
    'jobs/old.0123456789abcdef/0001.json': 40,
    'tasks/old.0001.json': 40,
    'batches/old/results.jsonl': 40,
    'videos/young.mp4': 29,
    'images/shop/young.png': 29,
  };
  for (const [file, days] of Object.entries(daysAgo)) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'a fox');
    const when = Date.now() / 1_000 - days * 86_400;
    utimesSync(path, when, when);
  }
  const [line = ''] = blocksOf(sectionOf(readPage('storage.md'), 'Let videos expire'), 'cron');
  const [, command = ''] = /^(?:\S+ ){5}(.*)$/m.exec(line) ?? [];
  execFileSync('sh', ['-c', command.replaceAll('/srv/videogen', folder)]);
  const left = Object.keys(daysAgo).filter((file) => existsSync(join(folder, file)));
  expect(left).toEqual(Object.keys(daysAgo).slice(4));
  rmSync(folder, { recursive: true });
});
