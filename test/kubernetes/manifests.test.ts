import { dirname } from 'node:path';
import { parse } from 'yaml';
import { type Mistake, ruleNamed, rulesWithoutMistake } from '../support/rule-named';
import { parseManifests } from './manifests';
import { each, files, KUSTOMIZATION, manifests, NOT_IN_KUSTOMIZATION, RULES } from './rules';

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
    ['a port that is not there', /(livez\n +)port: monitor/, '$1port: metrics', 'ask for life'],
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
    ['a folder without an end', /sizeLimit: \S+/, 'medium: ""', 'give the folder'],
    [
      'a policy for the gateway alone',
      'policyTypes: [Ingress, Egress]',
      'policyTypes: [Ingress]',
      'are behind',
    ],
    ['a port that nobody reaches', '- port: http', '- port: https', 'are behind'],
    ['no way to Temporal', /port: 7233/g, 'port: 7234', 'are behind'],
    ['a short grace period', 'PeriodSeconds: 150', 'PeriodSeconds: 120', 'let a worker'],
    ['the monitor for callers', 'targetPort: http', 'targetPort: monitor', 'serve'],
    ['another queue', 'taskQueue: video-generation', 'taskQueue: videos', 'scale'],
    ['another target', /scaleTargetRef:\n.*/, 'scaleTargetRef:\n    name: worker', 'scale'],
  ];

  it.each(BROKEN)('with %s are refused', (_what, search, replacement, start) => {
    const broken = allText.replace(search, replacement);
    expect(broken).not.toBe(allText);
    expect(RULES[ruleNamed(RULES, start)]?.(parseManifests(broken))).not.toEqual([]);
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
