import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import Ajv from 'ajv';
import { parse } from 'yaml';
import { VARIABLES } from '../../src/config/settings';
import { DEFAULT_TASK_QUEUE } from '../../src/contract/names';
import { SUBMIT_POLICY } from '../../src/contract/policies';
import { parseDockerfile } from '../support/compose-file';
import { buildGoTool, GO_TOOL_TIMEOUT_MS } from '../support/go-tool';
import { describeAtNight } from '../support/nightly';
import { expectRefused, type Mistake, rulesWithoutMistake } from '../support/rules';
import { type Container, type Manifest, type Pod, parseManifests } from './manifests';
import schemas from './schemas.json';

const ROOT = join(__dirname, '../..');
const FOLDER = join(ROOT, 'deploy/kubernetes');
const KUSTOMIZATION = 'kustomization.yaml';
/** Applied by itself, or by nobody. */
const NOT_IN_KUSTOMIZATION = ['scaled-object.yaml', 'secrets.example.yaml'];

/** By their paths in the folder. */
const files: Record<string, string> = Object.fromEntries(
  readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]),
);
const manifests = Object.entries(files).filter(([name]) => basename(name) !== KUSTOMIZATION);

const SETTING_NAMES = new Set(VARIABLES);
const OUR_USER = parseDockerfile(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).at(-1)?.instructions.USER;

/** Strict: a field that a kind does not have is refused. */
const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false }).addSchema(
  { $defs: schemas.$defs },
  'kubernetes',
);
const KINDS = new Map(Object.entries(schemas.kinds));

function schemaProblems(manifest: Manifest): string[] {
  const kind = `${manifest.apiVersion} ${manifest.kind}`;
  const name = KINDS.get(kind);
  if (name === undefined) return [`there is no schema for ${kind}`];
  const follows = ajv.getSchema(`kubernetes#/$defs/${name}`);
  if (follows?.(manifest)) return [];
  return (follows?.errors ?? []).map(
    ({ instancePath, message, params }) => `${kind}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

const ofKind = (all: Manifest[], kind: string) => all.filter((manifest) => manifest.kind === kind);
const dataOf = (all: Manifest[]) => ofKind(all, 'ConfigMap')[0]?.data ?? {};

/** One line per problem, for each container of ours. */
function each(
  all: Manifest[],
  problems: (container: Container, pod: Pod) => (string | false | undefined)[],
): string[] {
  return ofKind(all, 'Deployment').flatMap(({ spec }) => {
    const pod = spec?.template?.spec;
    return (pod?.containers ?? []).flatMap((container) =>
      problems(container, pod ?? { containers: [] })
        .filter((problem) => typeof problem === 'string')
        .map((problem) => `${container.name}: ${problem}`),
    );
  });
}

const labelsOf = (all: Manifest[]) =>
  ofKind(all, 'Deployment').map(({ spec }) => spec?.template?.metadata.labels ?? {});
const selects = (selector: Record<string, unknown>, labels: Record<string, string>) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

type Rule = (all: Manifest[]) => string[];

const RULES: Record<string, Rule> = {
  'follow the schemas, without unknown fields': (all) => all.flatMap(schemaProblems),

  'select pods that exist': (all) =>
    all.flatMap(({ kind, metadata, spec }) => {
      const { matchLabels, ...plain } = spec?.selector ?? spec?.podSelector ?? {};
      const selector = matchLabels ?? plain;
      const isNeedless = Object.keys(selector).length === 0;
      if (isNeedless || labelsOf(all).some((labels) => selects(selector, labels))) return [];
      return [`${kind} ${metadata.name} selects nothing`];
    }),

  'set only variables that the code reads': (all) =>
    [
      ...Object.keys(dataOf(all)),
      ...ofKind(all, 'Deployment').flatMap(({ spec }) =>
        (spec?.template?.spec.containers ?? []).flatMap(({ env = [] }) => env.map(({ name }) => name)),
      ),
    ].filter((name) => !SETTING_NAMES.has(name)),

  'take their settings from the ConfigMap': (all) =>
    each(all, ({ envFrom = [] }) => [
      envFrom[0]?.configMapRef?.name !== ofKind(all, 'ConfigMap')[0]?.metadata.name && 'has no settings',
    ]),

  'ask for life and readiness at ports that they have': (all) =>
    each(all, ({ ports = [], startupProbe, livenessProbe, readinessProbe }) => {
      const probes = { '/livez': [startupProbe, livenessProbe], '/readyz': [readinessProbe] };
      return Object.entries(probes).flatMap(([path, asking]) =>
        asking.map((probe) => {
          const hasPort = ports.some(({ name }) => name === probe?.httpGet?.port);
          return (probe?.httpGet?.path !== path || !hasPort) && `is not asked for ${path}`;
        }),
      );
    }),

  'are monitored at the port of the settings, from outside of the pod': (all) => {
    const [host, port] = String(dataOf(all).VIDEOGEN_MONITOR_PORT).split(':');
    return each(all, ({ ports = [] }) => [
      String(ports.find(({ name }) => name === 'monitor')?.containerPort) !== port && `listens at ${port}`,
      host !== '0.0.0.0' && `listens on ${host}`,
    ]);
  },

  'run without privileges, on a read-only root': (all) =>
    each(
      all,
      ({ securityContext: own = {}, volumeMounts = [] }, { securityContext: pod = {}, volumes = [] }) => {
        const emptyDirs = volumes.filter(({ emptyDir }) => emptyDir).map(({ name }) => name);
        return [
          `${pod.runAsUser}:${pod.runAsGroup}` !== OUR_USER && `runs as ${pod.runAsUser}:${pod.runAsGroup}`,
          !pod.runAsNonRoot && 'may run as root',
          own.allowPrivilegeEscalation !== false && 'may gain privileges',
          !own.readOnlyRootFilesystem && 'can write to its root',
          own.capabilities?.drop?.join() !== 'ALL' && 'has capabilities',
          !volumeMounts.some(({ name, mountPath }) => mountPath === '/tmp' && emptyDirs.includes(name)) &&
            'has no /tmp',
        ];
      },
    ),

  'mount the secrets of the example, readable for their group': (all) => {
    const examples = ofKind(all, 'Secret').map(({ metadata }) => metadata.name);
    return each(all, (_, { volumes = [], securityContext }) =>
      volumes.flatMap(({ secret }) => [
        secret && !examples.includes(secret.secretName) && `there is no example of ${secret.secretName}`,
        secret && secret.defaultMode !== 0o440 && `the mode of ${secret.secretName} is ${secret.defaultMode}`,
        secret && securityContext?.fsGroup !== 1000 && 'another group owns the secrets',
      ]),
    );
  },

  'name files that a secret has': (all) => {
    const keys = ofKind(all, 'Secret').flatMap(({ stringData = {} }) => Object.keys(stringData));
    return each(all, ({ env = [], volumeMounts = [] }) =>
      env
        .filter(({ name }) => name.endsWith('_FILE'))
        .map(({ value = '' }) => {
          const isMounted = volumeMounts.some(({ mountPath }) =>
            keys.some((key) => value === `${mountPath}/${key}`),
          );
          return !isMounted && `there is no ${value}`;
        }),
    );
  },

  'show no value of a secret': (all) =>
    ofKind(all, 'Secret').flatMap(({ stringData = {}, data = {} }) =>
      Object.entries({ ...stringData, ...data })
        .filter(([, value]) => value !== '')
        .map(([name]) => `${name} has a value`),
    ),

  'ask for processor and memory, and limit only memory': (all) =>
    each(all, ({ resources }) => [
      (resources?.requests?.cpu === undefined || resources.requests.memory === undefined) &&
        'requests too little',
      Object.keys(resources?.limits ?? {}).join() !== 'memory' && 'limits other than memory',
    ]),

  'give the folder for temporary files a size': (all) =>
    each(all, (_, { volumes = [] }) =>
      volumes.map(({ emptyDir, name }) => emptyDir && !emptyDir.sizeLimit && `${name} may fill the node`),
    ),

  'are behind network policies, which let them reach Temporal': (all) => {
    const policies = ofKind(all, 'NetworkPolicy').map(({ spec = {} }) => spec);
    const temporal = Number(String(dataOf(all).TEMPORAL_ADDRESS).split(':')[1]);
    return ofKind(all, 'Deployment').flatMap(({ metadata: { name }, spec }) => {
      const labels = spec?.template?.metadata.labels ?? {};
      const its = policies.filter(({ podSelector }) => selects(podSelector?.matchLabels ?? {}, labels));
      const portsOf = (kind: 'ingress' | 'egress') =>
        its
          .flatMap((policy) => policy[kind] ?? [])
          .flatMap(({ ports = [] }) => ports.map(({ port }) => port));
      const own = spec?.template?.spec.containers.flatMap(({ ports = [] }) => ports.map((port) => port.name));
      return [
        ...['Ingress', 'Egress']
          .filter((type) => !its.some(({ policyTypes = [] }) => policyTypes.includes(type)))
          .map((type) => `${name}: ${type} is open`),
        ...(own ?? [])
          .filter((port) => !portsOf('ingress').includes(port))
          .map((port) => `${name}: nobody reaches ${port}`),
        ...(portsOf('egress').includes(temporal) ? [] : [`${name}: does not reach Temporal`]),
      ];
    });
  },

  'let a worker finish its submits before it is killed': (all) =>
    each(all, ({ args }, { terminationGracePeriodSeconds = 30 }) => [
      args?.[0] === 'worker' &&
        terminationGracePeriodSeconds * 1_000 <= SUBMIT_POLICY.startToCloseTimeout &&
        `is killed after ${terminationGracePeriodSeconds} s`,
    ]),

  'serve the port of the gateway': (all) =>
    ofKind(all, 'Service').flatMap(({ spec }) => {
      const served = ofKind(all, 'Deployment')
        .flatMap((deployment) => deployment.spec?.template?.spec.containers ?? [])
        .flatMap(({ ports = [], args = [] }) =>
          ports.filter(({ containerPort }) => args.at(-1) === String(containerPort)).map(({ name }) => name),
        );
      return (spec?.ports ?? []).map(({ targetPort }) => targetPort).filter((port) => !served.includes(port));
    }),

  'scale the worker by the queue of the jobs': (all) =>
    ofKind(all, 'ScaledObject').flatMap(({ spec }) => {
      const [trigger] = spec?.triggers ?? [];
      const { endpoint, namespace, taskQueue } = trigger?.metadata ?? {};
      return [
        ofKind(all, 'Deployment').some(({ metadata }) => metadata.name === spec?.scaleTargetRef?.name)
          ? ''
          : 'no target',
        trigger?.type === 'temporal' ? '' : 'not by Temporal',
        taskQueue === DEFAULT_TASK_QUEUE ? '' : `by the queue ${taskQueue}`,
        endpoint === dataOf(all).TEMPORAL_ADDRESS ? '' : `at ${endpoint}`,
        namespace === dataOf(all).TEMPORAL_NAMESPACE ? '' : `in ${namespace}`,
      ].filter((problem) => problem !== '');
    }),
};

const kustomization = parse(files[KUSTOMIZATION] ?? '');
const allText = manifests.map(([, text]) => text).join('---\n');

describe('the manifests for Kubernetes', () => {
  it.each(Object.keys(RULES))('%s', (rule) => {
    expect(RULES[rule]?.(parseManifests(allText))).toEqual([]);
  });

  /** Mistakes, and the rule that refuses each. */
  const BROKEN: Mistake[] = [
    ['a misspelt field', 'readinessProbe:', 'readynessProbe:', 'follow'],
    ['a misspelt field of KEDA', 'maxReplicaCount', 'maxReplicas', 'follow'],
    ['another label', /component: worker\n {4}spec:/, 'component: workers\n    spec:', 'select'],
    ['an unknown variable', 'VIDEOGEN_STORAGE', 'VIDEOGEN_STORE', 'set only'],
    ['other settings', /configMapRef:\n.*/, 'configMapRef:\n                name: other', 'take'],
    ['another path to ask', 'path: /readyz', 'path: /ready', 'ask for life'],
    ['a monitor for the pod alone', '0.0.0.0:9464', '127.0.0.1:9464', 'are monitored'],
    ['a root user', 'runAsUser: 1000', 'runAsUser: 0', 'run without'],
    ['a writable root', 'readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false', 'run without'],
    ['a secret without an example', 'secretName: videogen-service', 'secretName: service', 'mount'],
    ['a secret for everybody', 'defaultMode: 288', 'defaultMode: 292', 'mount'],
    ['a file that no secret has', 'videogen/video-api-key', 'videogen/key', 'name files'],
    ['a value of a secret', 'video-api-key: ""', 'video-api-key: abc', 'show no'],
    ['a processor limit', 'limits:\n', 'limits:\n              cpu: "1"\n', 'ask for processor'],
    ['a folder without an end', /sizeLimit: \S+/, 'medium: ""', 'give the folder'],
    ['no way to Temporal', /port: 7233/g, 'port: 7234', 'are behind'],
    ['a short grace period', 'PeriodSeconds: 150', 'PeriodSeconds: 120', 'let a worker'],
    ['the monitor for callers', 'targetPort: http', 'targetPort: monitor', 'serve'],
    ['another queue', 'taskQueue: video-generation', 'taskQueue: videos', 'scale'],
  ];

  it.each(BROKEN)('with %s are refused', (...mistake) => {
    expectRefused(RULES, parseManifests, allText, mistake);
  });

  it('have a mistake for each rule', () => {
    expect(rulesWithoutMistake(RULES, BROKEN)).toEqual([]);
  });

  it('are all in the kustomization, except those that are applied by themselves or made by commands', () => {
    const names = manifests.map(([name]) => (dirname(name) === '.' ? name : dirname(name)));
    expect([...kustomization.resources, ...NOT_IN_KUSTOMIZATION].sort()).toEqual(names.sort());
  });

  it('use the image that the kustomization names', () => {
    const images = new Set(
      each(parseManifests(allText), ({ image }) => [image]).map((line) => line.split(': ')[1]),
    );
    expect([...images]).toEqual(kustomization.images.map(({ name }: { name: string }) => name));
  });
});

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

  it('follows the rules, also with workers of a version, which name it to Temporal', () => {
    const [all, version] = [render('.'), render('version')];
    expect(problems([...all, ...NOT_IN_KUSTOMIZATION.flatMap(applied)])).toEqual([]);
    const others = all.filter(({ metadata }) => metadata.name !== 'videogen-worker');
    expect(problems([...version, ...others, ...applied('secrets.example.yaml')])).toEqual([]);
    const [{ spec } = { spec: undefined }] = version;
    const env = spec?.template?.spec.containers[0]?.env ?? [];
    const { valueFrom } = env.find(({ name }) => name === 'TEMPORAL_WORKER_BUILD_ID') ?? {};
    const [label] = /(?<=').*(?=')/.exec(valueFrom?.fieldRef?.fieldPath ?? '') ?? [];
    expect(spec?.template?.metadata.labels[label ?? '']).toBe('0.2.0');
    expect(env.map(({ name }) => name)).toContain('TEMPORAL_DEPLOYMENT_NAME');
  });

  it('is another Deployment with other pods for the next version', () => {
    const [first] = render('version');
    const file = join(copy, 'version', KUSTOMIZATION);
    const next = readFileSync(file, 'utf8').replaceAll('0.2.0', '0.3.0').replaceAll('0-2-0', '0-3-0');
    writeFileSync(file, next);
    const [second] = render('version');
    expect([first, second].map((one) => one?.metadata.name)).toEqual([
      'videogen-worker-0-2-0',
      'videogen-worker-0-3-0',
    ]);
    const selector = first?.spec?.selector?.matchLabels ?? {};
    expect(selects(selector, labelsOf(second ? [second] : [])[0] ?? {})).toBe(false);
  });
});
