import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildGoTool, GO_TOOL_TIMEOUT_MS } from '../support/go-tool';
import { describeAtNight } from '../support/nightly';
import { type Manifest, parseManifests } from './manifests';
import { FOLDER, files, KUSTOMIZATION, labelsOf, NOT_IN_KUSTOMIZATION, RULES, selects } from './rules';

describeAtNight('what kustomize makes of them', () => {
  let kustomize: string;
  let copy: string;
  beforeAll(async () => {
    copy = mkdtempSync(join(tmpdir(), 'videogen-kubernetes-'));
    cpSync(FOLDER, copy, { recursive: true });
    kustomize = await buildGoTool({
      recipe: 'kustomize',
      module: 'sigs.k8s.io/kustomize/kustomize/v5',
      program: 'sigs.k8s.io/kustomize/kustomize/v5',
      name: 'kustomize',
    });
  }, GO_TOOL_TIMEOUT_MS);
  afterAll(() => rmSync(copy, { recursive: true }));

  const render = (folder: string) =>
    parseManifests(execFileSync(kustomize, ['build', join(copy, folder)], { encoding: 'utf8' }));
  const applied = (name: string) => parseManifests(files[name] ?? '');
  const problems = (all: Manifest[]) =>
    Object.entries(RULES).flatMap(([rule, find]) => find(all).map((problem) => `${rule}: ${problem}`));

  it('follows the rules', () => {
    const all = [...render('.'), ...NOT_IN_KUSTOMIZATION.flatMap(applied)];
    expect(problems(all)).toEqual([]);
  });

  it('follows the rules with workers of a version, which name it to Temporal', () => {
    const others = render('.').filter(({ metadata }) => metadata.name !== 'videogen-worker');
    const version = render('version');
    expect(problems([...version, ...others, ...applied('secrets.example.yaml')])).toEqual([]);
    const [{ spec } = { spec: undefined }] = version;
    const env = spec?.template?.spec.containers[0]?.env ?? [];
    const { valueFrom } = env.find(({ name }) => name === 'TEMPORAL_WORKER_BUILD_ID') ?? {};
    const [label] = /(?<=').*(?=')/.exec(valueFrom?.fieldRef?.fieldPath ?? '') ?? [];
    expect(spec?.template?.metadata.labels[label ?? '']).toBe('0.1.0');
    expect(env.map(({ name }) => name)).toContain('TEMPORAL_DEPLOYMENT_NAME');
  });

  it('is another Deployment with other pods for the next version', () => {
    const [first] = render('version');
    const file = join(copy, 'version', KUSTOMIZATION);
    const next = readFileSync(file, 'utf8').replaceAll('0.1.0', '0.2.0').replaceAll('0-1-0', '0-2-0');
    writeFileSync(file, next);
    const [second] = render('version');
    expect([first, second].map((one) => one?.metadata.name)).toEqual([
      'videogen-worker-0-1-0',
      'videogen-worker-0-2-0',
    ]);
    const selector = first?.spec?.selector?.matchLabels ?? {};
    expect(selects(selector, labelsOf(second ? [second] : [])[0] ?? {})).toBe(false);
  });
});
