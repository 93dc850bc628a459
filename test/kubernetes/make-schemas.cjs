/**
 * Writes schemas.json, to which the tests hold deploy/kubernetes: `node test/kubernetes/make-schemas.cjs`. It has the
 * definitions that our kinds need, without descriptions: Kubernetes' own as the package kubernetes-validate publishes them on
 * PyPI, and KEDA's from its Go module. Both are of the oldest version that the manifests support: later ones only add fields.
 */
const { execFileSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { parse } = require('yaml');

const KUBERNETES = '1.30.0';
const KUBERNETES_VALIDATE = '1.37.0';
const KEDA = 'v2.17.0';
const KINDS = {
  'apps/v1 Deployment': 'io.k8s.api.apps.v1.Deployment',
  'networking.k8s.io/v1 NetworkPolicy': 'io.k8s.api.networking.v1.NetworkPolicy',
  'policy/v1 PodDisruptionBudget': 'io.k8s.api.policy.v1.PodDisruptionBudget',
  'v1 ConfigMap': 'io.k8s.api.core.v1.ConfigMap',
  'v1 Secret': 'io.k8s.api.core.v1.Secret',
  'v1 Service': 'io.k8s.api.core.v1.Service',
};
const METADATA = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

const run = (program, args, cwd) => execFileSync(program, args, { cwd, encoding: 'utf8' });

function kubernetesDefinitions(folder) {
  const wheel = `kubernetes-validate==${KUBERNETES_VALIDATE}`;
  run('python3', ['-m', 'pip', 'download', '--no-deps', '--dest', folder, wheel]);
  const file = `kubernetes_validate-${KUBERNETES_VALIDATE}-py3-none-any.whl`;
  run('python3', ['-m', 'zipfile', '-e', file, folder], folder);
  const strict = `kubernetes_validate/kubernetes-json-schema/v${KUBERNETES}-local-strict/_definitions.json`;
  return JSON.parse(readFileSync(join(folder, strict), 'utf8')).$defs;
}

/** A custom resource's schema lists its fields, and an API server drops others: here they are refused. */
function strict(_name, value) {
  const isClosed =
    value?.type === 'object' && value.properties && !value['x-kubernetes-preserve-unknown-fields'];
  return isClosed ? { additionalProperties: false, ...value } : value;
}

function scaledObject(folder) {
  const described = run('go', ['mod', 'download', '-json', `github.com/kedacore/keda/v2@${KEDA}`], folder);
  const file = join(JSON.parse(described).Dir, 'config/crd/bases/keda.sh_scaledobjects.yaml');
  const { openAPIV3Schema } = parse(readFileSync(file, 'utf8')).spec.versions[0].schema;
  openAPIV3Schema.properties.metadata = { $ref: `#/$defs/${METADATA}` };
  return JSON.parse(JSON.stringify(openAPIV3Schema, strict));
}

/** Without what a validator does not read. A property may be called `description` too: that one has an object. */
const bare = (name, value) =>
  (name === 'description' && typeof value === 'string') || /^x-kubernetes|^format$/.test(name)
    ? undefined
    : value;

const refersTo = (schema) =>
  [...JSON.stringify(schema).matchAll(/#\/\$defs\/([\w.-]+)/g)].map(([, name]) => name);

function needed(definitions, names, found = {}) {
  for (const name of names.filter((one) => found[one] === undefined)) {
    found[name] = definitions[name];
    needed(definitions, refersTo(found[name]), found);
  }
  return found;
}

const folder = mkdtempSync(join(tmpdir(), 'videogen-schemas-'));
try {
  const definitions = needed(kubernetesDefinitions(folder), [...Object.values(KINDS), METADATA]);
  const schemas = {
    versions: { Kubernetes: KUBERNETES, KEDA },
    kinds: { ...KINDS, 'keda.sh/v1alpha1 ScaledObject': 'ScaledObject' },
    $defs: { ...definitions, ScaledObject: scaledObject(folder) },
  };
  writeFileSync(join(__dirname, 'schemas.json'), `${JSON.stringify(schemas, bare)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
