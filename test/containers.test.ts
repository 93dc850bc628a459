import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { settingProblems } from '../src/config/operation-config';
import { VARIABLES } from '../src/config/settings';
import { SUBMIT_POLICY } from '../src/contract/policies';
import { RELEASE } from '../src/temporal-server/find-server';

const ROOT = join(__dirname, '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const SETTING_NAMES = new Set(VARIABLES);
const dockerfile = read('Dockerfile');

/** The fields of a service that the tests read. */
interface Service {
  image?: string;
  build?: string;
  command?: string[];
  profiles?: string[];
  stop_grace_period?: string;
  env_file?: object[];
  environment?: Record<string, string>;
  ports?: string[];
  volumes?: string[];
}

const { services }: { services: Record<string, Service> } = parse(read('docker-compose.yml'), {
  merge: true,
});
const ours = Object.entries(services).filter(([, { build }]) => build !== undefined);
const withoutDigest = (image: string) => image.replace(/@sha256:[0-9a-f]{64}$/, '');

describe('docker-compose.yml', () => {
  it('has no error for the linter, which knows the specification', () => {
    const linter = join(ROOT, 'node_modules/dclint/bin/dclint.cjs');
    const lint = () =>
      execFileSync(process.execPath, [linter, '--quiet', 'docker-compose.yml'], { cwd: ROOT });
    expect(lint).not.toThrow();
  });

  it('publishes to loopback only', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  it('pins every image, and runs the Temporal version of the dev server', () => {
    const images = Object.values(services).map(({ build, image = '' }) => (build ? 'ours:1.0' : image));
    for (const image of images) expect(withoutDigest(image)).toMatch(/^[a-z/-]+:\d+\.\d+[\w.-]*$/);
    const ofTemporal = images.map(withoutDigest).filter((image) => /^temporalio\/(server|admin)/.test(image));
    expect(new Set(ofTemporal.map((image) => image.split(':')[1]))).toEqual(new Set([RELEASE.server]));
  });

  it.each(ours)('runs our %s under an init, without privileges, on a read-only root', (_name, service) => {
    const closed = { user: '1000:1000', read_only: true, cap_drop: ['ALL'], init: true, tmpfs: ['/tmp'] };
    expect(service).toMatchObject({ ...closed, security_opt: ['no-new-privileges:true'] });
  });

  it.each(ours)('sets only variables for %s that the code reads', (_name, { environment = {} }) => {
    expect(Object.keys(environment).filter((name) => !SETTING_NAMES.has(name))).toEqual([]);
  });

  it.each(ours)('gives %s the key of the service only if it calls the service', (_name, service) => {
    const { environment = {}, volumes = [], env_file, command: [command = ''] = [] } = service;
    const isCaller = ['worker', 'emulator'].includes(command);
    expect(volumes.some((volume) => volume.startsWith('./secrets'))).toBe(isCaller);
    const blank = { VIDEO_API_KEY: '', VIDEO_API_KEY_FILE: '' };
    if (env_file && !isCaller) expect(environment).toMatchObject(blank);
  });

  it('has no password or key in it', () => {
    const set = Object.values(services).flatMap(({ environment = {} }) => Object.entries(environment));
    const secrets = set.filter(([name, value]) => /(PASSWORD|PWD|KEY|SECRET)$/.test(name) && value !== '');
    expect(secrets).toEqual([]);
  });

  it('mounts only folders and files that the repository has, which nobody can write', () => {
    const mounted = Object.values(services).flatMap(({ volumes = [] }) => volumes);
    const ofHost = mounted.filter((volume) => !/^[\w-]+:/.test(volume));
    expect(ofHost.length).toBeGreaterThan(0);
    for (const volume of ofHost) {
      expect(volume).toMatch(/^[.](.*):\1:ro$/);
      expect(existsSync(join(ROOT, volume.split(':')[0] ?? ''))).toBe(true);
    }
  });

  it('stores videos in a volume, and lets a worker finish its submits before it is killed', () => {
    const { volumes, stop_grace_period = '' } = services.worker ?? {};
    expect(volumes).toContain('videos:/videos');
    const [, minutes, seconds] = /^(\d+)m(\d+)s$/.exec(stop_grace_period) ?? [];
    const graceMs = (Number(minutes) * 60 + Number(seconds)) * 1_000;
    expect(graceMs).toBeGreaterThan(SUBMIT_POLICY.startToCloseTimeout);
  });
});

describe('.env.example', () => {
  const example = read('.env.example');
  const linesOf = (pattern: RegExp) =>
    Array.from(example.matchAll(pattern), ([, name = '', value = '']) => [name, value] as const);

  it('starts with the emulator', () => {
    const active = Object.fromEntries(linesOf(/^([A-Z_]+)=(.*)$/gm));
    const { profiles, command, environment } = services.emulator ?? {};
    expect(active).toEqual({
      COMPOSE_PROFILES: profiles?.join(),
      VIDEO_API_BASE_URL: `http://emulator:${command?.at(-1)}`,
      VIDEO_API_KEY_FILE: environment?.VIDEO_API_KEY_FILE,
    });
    expect(existsSync(join(ROOT, active.VIDEO_API_KEY_FILE ?? ''))).toBe(true);
  });

  it('has valid settings in its comments, and files in the folders that are mounted', () => {
    const shown = linesOf(/^#([A-Z_]+)=(.*)$/gm).filter(([name]) => !/^(AWS_|GATEWAY_URL_)/.test(name));
    expect(shown.map(([name]) => name).filter((name) => !SETTING_NAMES.has(name))).toEqual([]);
    const files = shown.filter(([, value]) => value.startsWith('/'));
    for (const [, file] of files) expect(file).toMatch(/^\/(secrets|settings)\/[a-z.-]+$/);
    const values = Object.fromEntries(shown.filter((line) => !files.includes(line)));
    const VIDEOGEN_WEBHOOK_SECRET = `whsec_${Buffer.alloc(32).toString('base64')}`;
    expect(settingProblems({ ...values, VIDEOGEN_WEBHOOK_SECRET })).toEqual([]);
  });
});

test('what stands in for the images, and what bench:cluster measures, is of the versions of the images', () => {
  const pins = read('test/support/temporal-cluster/go.mod');
  const tagOf = (service: string) => withoutDigest(services[service]?.image ?? '').split(':')[1];
  expect(pins).toContain(`\tgo.temporal.io/server v${tagOf('temporal')}`);
  expect(pins).toContain(`\tgithub.com/temporalio/ui-server/v2 v${tagOf('temporal-ui')}`);
});

test('the Dockerfile builds on one pinned Node with glibc, runs as the user of the services, and sets what the code reads', () => {
  const bases = [...dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, image = '']) => withoutDigest(image));
  expect(new Set(bases).size).toBe(1);
  expect(bases[0]).toMatch(/^node:2\d\.\d+\.\d+-\w+-slim$/);
  expect(dockerfile.match(/^USER .*/gm)).toEqual(['USER 1000:1000']);
  const [, variables = ''] = /^ENV (.*)$/m.exec(dockerfile) ?? [];
  const names = variables.split(' ').map((setting) => setting.split('=')[0] ?? '');
  const ofOthers = ['NODE_ENV', 'MALLOC_ARENA_MAX'];
  expect(names.filter((name) => !ofOthers.includes(name) && !SETTING_NAMES.has(name))).toEqual([]);
});

test('.dockerignore excludes everything that it does not name, such as keys and videos', () => {
  const lines = read('.dockerignore').split('\n');
  const [all, ...named] = lines.filter((line) => line !== '' && !line.startsWith('#'));
  expect(all).toBe('*');
  for (const line of named) expect(line).toMatch(/^![\w.-]+$/);
});
