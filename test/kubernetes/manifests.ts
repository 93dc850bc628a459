import { parseAllDocuments } from 'yaml';

/** The fields of our manifests that the tests read. The schemas have accepted them before. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec?: Spec;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

export interface Spec {
  selector?: { matchLabels?: Record<string, string> } & Record<string, unknown>;
  template?: { metadata: { labels: Record<string, string> }; spec: Pod };
  ports?: { targetPort: string }[];
  /** Of a network policy. */
  podSelector?: { matchLabels?: Record<string, string> };
  policyTypes?: string[];
  ingress?: NetworkRule[];
  egress?: NetworkRule[];
  scaleTargetRef?: { name: string };
  triggers?: { type: string; metadata: Record<string, string> }[];
}

interface NetworkRule {
  ports?: { port: string | number }[];
}

export interface Pod {
  terminationGracePeriodSeconds?: number;
  securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; runAsGroup?: number; fsGroup?: number };
  containers: Container[];
  volumes?: {
    name: string;
    emptyDir?: { sizeLimit?: string };
    secret?: { secretName: string; defaultMode?: number };
  }[];
}

export interface Probe {
  httpGet?: { path: string; port: string };
}

export interface Container {
  name: string;
  image: string;
  args?: string[];
  env?: { name: string; value?: string; valueFrom?: { fieldRef?: { fieldPath: string } } }[];
  envFrom?: { configMapRef?: { name: string } }[];
  ports?: { name: string; containerPort: number }[];
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  resources?: Record<'requests' | 'limits', Record<string, string> | undefined>;
  securityContext?: {
    allowPrivilegeEscalation?: boolean;
    readOnlyRootFilesystem?: boolean;
    capabilities?: { drop?: string[] };
  };
  volumeMounts?: { name: string; mountPath: string }[];
}

/** All documents of a file. */
export const parseManifests = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS());
