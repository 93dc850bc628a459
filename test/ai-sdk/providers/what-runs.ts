import { dependencies } from '../package.json';

interface ProviderFacts {
  service: string;
  model: string;
  /** The task id of a job, with ID for what the service calls its task. */
  taskId: string;
}

/** The providers whose packages run whole jobs. docs/ai-sdk.md shows this table, and packages.ts has a model for each row. */
export const PROVIDERS = {
  fal: {
    service: 'fal',
    model: 'veo3',
    taskId:
      '{"responseUrl":"https://queue.fal.run/fal-ai/veo3/requests/ID","submitUrl":"https://queue.fal.run/fal-ai/veo3"}',
  },
  replicate: {
    service: 'Replicate',
    model: 'bytedance/seedance-1-lite',
    taskId: '{"getUrl":"https://api.replicate.com/v1/predictions/ID"}',
  },
  google: {
    service: 'Gemini API',
    model: 'veo-3.1-generate-preview',
    taskId: '{"operationName":"ID"}',
  },
  xai: {
    service: 'xAI',
    model: 'grok-imagine-video',
    taskId: '{"requestId":"ID"}',
  },
  alibaba: {
    service: 'Model Studio',
    model: 'wan3.0-video',
    taskId: '{"taskId":"ID"}',
  },
  'google-vertex': {
    service: 'Vertex AI',
    model: 'veo-3.1-generate-001',
    taskId: '{"operationName":"ID"}',
  },
} as const satisfies Record<string, ProviderFacts>;

export type ProviderName = keyof typeof PROVIDERS;

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as ProviderName[];

/** What each provider's jobs meet. docs/ai-sdk.md lists them. */
export const SCENARIOS = ['success', 'failure', 'adopted', 'expired link'] as const;

export type ScenarioName = (typeof SCENARIOS)[number];

/** A provider that answers with bytes has no link. */
export const scenariosOf = (provider: ProviderName): ScenarioName[] =>
  SCENARIOS.filter((name) => provider !== 'google-vertex' || name !== 'expired link');

export const packageOf = (provider: ProviderName) => `@ai-sdk/${provider}` as const;

/** The version that is installed: package.json pins it, and a test compares it with what the package says of itself. */
export const versionOf = (provider: ProviderName): string => dependencies[packageOf(provider)];

/** What the page says of each package. */
export function whatWasRun(): string {
  const rows = PROVIDER_NAMES.map((name) => {
    const { service, model, taskId } = PROVIDERS[name];
    return [`\`${packageOf(name)}\` ${versionOf(name)}`, service, `\`${model}\``, `\`${taskId}\``];
  });
  return table(['Package', 'Service', 'Model', 'Task id'], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
