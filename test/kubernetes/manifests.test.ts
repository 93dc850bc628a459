import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { VARIABLES } from '../../src/config/settings';
import { DEFAULT_TASK_QUEUE } from '../../src/contract/names';
import { SUBMIT_POLICY } from '../../src/contract/policies';
import { buildGoTool, GO_TOOL_TIMEOUT_MS } from '../support/go-tool';
import { describeAtNight } from '../support/nightly';
import { findPythonWith, PYTHON_TIMEOUT_MS } from '../support/python-packages';

const FOLDER = join(__dirname, '../../deploy/kubernetes');
const KUSTOMIZATION = 'kustomization.yaml';
/** Applied by itself, or by nobody. */
const NOT_IN_KUSTOMIZATION = ['scaled-object.yaml', 'secrets.example.yaml'];

const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.yaml') && !name.endsWith(KUSTOMIZATION),
);
const manifestsIn = (text: string) => parseAllDocuments(text).map((document) => document.toJS());
const applied = (name: string) => manifestsIn(readFileSync(join(FOLDER, name), 'utf8'));
const manifests = names.flatMap(applied);
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const [settings] = ofKind('ConfigMap');
const secrets = ofKind('Secret');
const pods = ofKind('Deployment').map(({ metadata, spec }) => [metadata.name, spec.template.spec] as const);

/** A container without privileges, which can write to `/tmp` alone and asks for processor and memory but limits only memory. */
const CLOSED = {
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
  resources: {
    requests: { cpu: expect.any(String), memory: expect.any(String) },
    limits: { memory: expect.any(String) },
  },
};

describe('the manifests for Kubernetes', () => {
  it('select pods that exist, and serve the port of the gateway', () => {
    for (const { metadata, spec } of ofKind('Deployment')) {
      const others = [...ofKind('PodDisruptionBudget'), ...ofKind('Service')].filter(
        (other) => other.metadata.name === metadata.name,
      );
      const selectors = [spec, ...others.map((other) => other.spec)].map(({ selector }) => selector);
      expect(selectors.length).toBeGreaterThan(1);
      for (const selector of selectors)
        expect(spec.template.metadata.labels).toMatchObject(selector.matchLabels ?? selector);
    }
    const [, { containers }] = pods.find(([name]) => name === 'videogen-gateway') ?? [];
    expect(containers[0].ports[0]).toEqual({
      name: 'http',
      containerPort: Number(containers[0].args.at(-1)),
    });
    expect(ofKind('Service')).toMatchObject([{ spec: { ports: [{ targetPort: 'http' }] } }]);
  });

  it.each(pods)('run %s without privileges, on a read-only root', (_name, pod) => {
    const user = { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 };
    const closed = { automountServiceAccountToken: false, securityContext: user, containers: [CLOSED] };
    expect(pod).toMatchObject(closed);
    expect(Object.keys(pod.containers[0].resources.limits)).toEqual(['memory']);
    expect(pod.containers[0].volumeMounts).toContainEqual({ name: 'tmp', mountPath: '/tmp' });
    expect(pod.volumes).toContainEqual({ name: 'tmp', emptyDir: { sizeLimit: expect.any(String) } });
  });

  it.each(pods)('ask %s for life and readiness, and let Prometheus in', (_name, { containers: [its] }) => {
    const [host, port] = settings.data.VIDEOGEN_MONITOR_PORT.split(':');
    expect([host, its.ports.at(-1)]).toEqual(['0.0.0.0', { name: 'monitor', containerPort: Number(port) }]);
    const asking = { '/livez': [its.startupProbe, its.livenessProbe], '/readyz': [its.readinessProbe] };
    for (const [path, probes] of Object.entries(asking))
      for (const { httpGet } of probes) expect(httpGet).toEqual({ path, port: its.ports[0].name });
  });

  it.each(pods)('give %s settings that the code reads, and files that a secret has', (_name, pod) => {
    const [{ env, envFrom, volumeMounts }] = pod.containers;
    expect(envFrom[0]).toEqual({ configMapRef: { name: settings.metadata.name } });
    const set = [...Object.keys(settings.data), ...env.map(({ name }: { name: string }) => name)];
    expect(set.filter((name) => !VARIABLES.includes(name))).toEqual([]);
    const [{ secret }] = pod.volumes.slice(1);
    const example = secrets.find(({ metadata }) => metadata.name === secret.secretName);
    const [file] = Object.keys(example.stringData);
    expect(env).toEqual([
      { name: expect.stringMatching(/_FILE$/), value: `${volumeMounts[1].mountPath}/${file}` },
    ]);
    expect(secret.defaultMode).toBe(0o440);
  });

  it('show no value of a secret', () => {
    for (const { data, stringData } of secrets)
      expect([data, ...Object.values(stringData)]).toEqual([undefined, '']);
  });

  it('are behind network policies, which let them reach Temporal', () => {
    const [all, ofGateway] = ofKind('NetworkPolicy').map(({ spec }) => spec);
    for (const { spec } of ofKind('Deployment'))
      expect(spec.template.metadata.labels).toMatchObject(all.podSelector.matchLabels);
    expect([all, ofGateway].map(({ policyTypes }) => policyTypes)).toEqual([
      ['Ingress', 'Egress'],
      ['Ingress'],
    ]);
    const portsOf = (rules: { ports: { port: string | number }[] }[]) =>
      rules.flatMap(({ ports }) => ports.map(({ port }) => port));
    expect([portsOf(all.ingress), portsOf(ofGateway.ingress)]).toEqual([['monitor'], ['http']]);
    const [, temporal] = settings.data.TEMPORAL_ADDRESS.split(':');
    expect(portsOf(all.egress)).toContain(Number(temporal));
  });

  it('let a worker finish its submits before it is killed', () => {
    const [, worker] = pods.find(([name]) => name === 'videogen-worker') ?? [];
    expect(worker.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(SUBMIT_POLICY.startToCloseTimeout);
  });

  it('scale the worker by the queue of the jobs', () => {
    const [{ spec }] = ofKind('ScaledObject');
    const { TEMPORAL_ADDRESS: endpoint, TEMPORAL_NAMESPACE: namespace } = settings.data;
    expect(spec).toMatchObject({
      scaleTargetRef: { name: 'videogen-worker' },
      triggers: [{ type: 'temporal', metadata: { endpoint, namespace, taskQueue: DEFAULT_TASK_QUEUE } }],
    });
  });

  it('are all in the kustomization, except those that are applied by themselves or made by commands', () => {
    const { resources, images } = parse(readFileSync(join(FOLDER, KUSTOMIZATION), 'utf8'));
    const parts = names.map((name) => (dirname(name) === '.' ? name : dirname(name)));
    expect([...resources, ...NOT_IN_KUSTOMIZATION].sort()).toEqual(parts.sort());
    for (const [, { containers }] of pods) expect(images).toMatchObject([{ name: containers[0].image }]);
  });
});

describeAtNight('what kustomize makes of them', () => {
  let kustomize: string;
  let python: string;
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
    python = await findPythonWith('kubernetes-validate', 'kubernetes-validate.txt');
  }, GO_TOOL_TIMEOUT_MS + PYTHON_TIMEOUT_MS);
  afterAll(() => rmSync(copy, { recursive: true }));

  const build = (folder: string) =>
    execFileSync(kustomize, ['build', join(copy, folder)], { encoding: 'utf8' });
  const render = (folder: string) => manifestsIn(build(folder));

  it("follows Kubernetes' schemas of the oldest version, without unknown fields", () => {
    const args = ['-m', 'kubernetes_validate', '--kubernetes-version', '1.30', '--strict', '-'];
    for (const input of [build('.'), build('version'), readFileSync(join(FOLDER, 'secrets.example.yaml'))])
      expect(execFileSync(python, args, { input, encoding: 'utf8' })).toContain('passed for resource');
    const input = build('.').replace('readinessProbe', 'readynessProbe');
    expect(() => execFileSync(python, args, { input, stdio: 'pipe' })).toThrow();
  });

  it('names the version of its workers to Temporal', () => {
    const version = render('version');
    const [{ spec }] = version;
    const fieldPath = "metadata.labels['app.kubernetes.io/version']";
    expect(spec.template.spec.containers[0].env).toMatchObject([
      { name: 'VIDEO_API_KEY_FILE' },
      { name: 'TEMPORAL_DEPLOYMENT_NAME' },
      { name: 'TEMPORAL_WORKER_BUILD_ID', valueFrom: { fieldRef: { fieldPath } } },
    ]);
    expect(spec.template.metadata.labels).toHaveProperty(['app.kubernetes.io/version'], '0.2.0');
  });

  it('is another Deployment with other pods for the next version', () => {
    const [first] = render('version');
    const file = join(copy, 'version', KUSTOMIZATION);
    const next = readFileSync(file, 'utf8').replaceAll('0.2.0', '0.3.0').replaceAll('0-2-0', '0-3-0');
    writeFileSync(file, next);
    const [second] = render('version');
    expect(first.metadata.name).toBe('videogen-worker-0-2-0');
    expect(second.metadata.name).toBe('videogen-worker-0-3-0');
    expect(second.spec.template.metadata.labels).not.toMatchObject(first.spec.selector.matchLabels);
  });
});
