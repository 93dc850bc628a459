import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import { parse } from 'yaml';
import { VARIABLES } from '../../src/config/settings';
import { DEFAULT_TASK_QUEUE } from '../../src/contract/names';
import { SUBMIT_POLICY } from '../../src/contract/policies';
import { parseDockerfile } from '../support/compose-file';
import { type Container, type Manifest, type Pod, parseManifests } from './manifests';
import schemas from './schemas.json';

const ROOT = join(__dirname, '../..');
const FOLDER = join(ROOT, 'deploy/kubernetes');
const KUSTOMIZATION = 'kustomization.yaml';
/** Applied by itself, or by nobody. */
const NOT_IN_KUSTOMIZATION = ['scaled-object.yaml', 'secrets.example.yaml'];

const files: Record<string, string> = Object.fromEntries(
  readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]),
);
const kustomization = parse(files[KUSTOMIZATION] ?? '');
const manifests = Object.entries(files).filter(([name]) => name !== KUSTOMIZATION);
const allText = manifests.map(([, text]) => text).join('---\n');

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
      const { matchLabels, ...plain } = spec?.selector ?? {};
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

describe('the manifests for Kubernetes', () => {
  it.each(Object.keys(RULES))('%s', (rule) => {
    expect(RULES[rule]?.(parseManifests(allText))).toEqual([]);
  });

  /** Mistakes, and the rule that refuses each. */
  const BROKEN: [what: string, search: string | RegExp, replacement: string, rule: string][] = [
    ['a misspelt field', 'readinessProbe:', 'readynessProbe:', 'follow'],
    ['a misspelt field of KEDA', 'maxReplicaCount', 'maxReplicas', 'follow'],
    ['a number where text belongs', 'TEMPORAL_NAMESPACE: default', 'TEMPORAL_NAMESPACE: 7', 'follow'],
    ['an unknown kind', 'kind: ConfigMap', 'kind: ConfigMaps', 'follow'],
    [
      'a missing field',
      / {6}containers:\n {8}- name: worker/,
      '      initContainers:\n        - name: worker',
      'follow',
    ],
    ['another label', /component: worker\n {4}spec:/, 'component: workers\n    spec:', 'select'],
    ['an unknown variable', 'VIDEOGEN_STORAGE', 'VIDEOGEN_STORE', 'set only'],
    ['other settings', /configMapRef:\n.*/, 'configMapRef:\n                name: other', 'take'],
    ['another path to ask', 'path: /readyz', 'path: /ready', 'ask for life'],
    ['a port that is not there', 'port: monitor', 'port: metrics', 'ask for life'],
    ['another monitor port', 'containerPort: 9464', 'containerPort: 9465', 'are monitored'],
    ['a monitor for the pod alone', '0.0.0.0:9464', '127.0.0.1:9464', 'are monitored'],
    ['a root user', 'runAsUser: 1000', 'runAsUser: 0', 'run without'],
    ['a user that may be root', 'runAsNonRoot: true', 'runAsNonRoot: false', 'run without'],
    ['a writable root', 'readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false', 'run without'],
    ['capabilities', 'drop: [ALL]', 'drop: [KILL]', 'run without'],
    ['no temporary folder', 'mountPath: /tmp', 'mountPath: /temp', 'run without'],
    ['a secret without an example', 'secretName: videogen-service', 'secretName: service', 'mount'],
    ['a secret for everybody', 'defaultMode: 288', 'defaultMode: 292', 'mount'],
    ['a file that no secret has', 'videogen/video-api-key', 'videogen/key', 'name files'],
    ['a value of a secret', 'video-api-key: ""', 'video-api-key: abc', 'show no'],
    ['a processor limit', 'limits:\n', 'limits:\n              cpu: "1"\n', 'ask for processor'],
    ['no memory request', /memory: 512Mi\n/, '', 'ask for processor'],
    ['a short grace period', 'PeriodSeconds: 150', 'PeriodSeconds: 120', 'let a worker'],
    ['the monitor for callers', 'targetPort: http', 'targetPort: monitor', 'serve'],
    ['another queue', 'taskQueue: video-generation', 'taskQueue: videos', 'scale'],
    ['another target', /scaleTargetRef:\n.*/, 'scaleTargetRef:\n    name: worker', 'scale'],
  ];

  it.each(BROKEN)('with %s are refused', (_what, search, replacement, start) => {
    const broken = allText.replace(search, replacement);
    expect(broken).not.toBe(allText);
    const [rule = ''] = Object.keys(RULES).filter((name) => name.startsWith(start));
    expect(RULES[rule]?.(parseManifests(broken))).not.toEqual([]);
  });

  it('have a mistake for each rule', () => {
    const isTested = (name: string) => BROKEN.some(([, , , start]) => name.startsWith(start));
    expect(Object.keys(RULES).filter((name) => !isTested(name))).toEqual([]);
  });

  it('are all in the kustomization, except those that are applied by themselves or made by commands', () => {
    const names = manifests.map(([name]) => name);
    expect([...kustomization.resources, ...NOT_IN_KUSTOMIZATION].sort()).toEqual(names.sort());
  });

  it('use the image that the kustomization names', () => {
    const images = new Set(
      each(parseManifests(allText), ({ image }) => [image]).map((line) => line.split(': ')[1]),
    );
    expect([...images]).toEqual(kustomization.images.map(({ name }: { name: string }) => name));
  });
});
