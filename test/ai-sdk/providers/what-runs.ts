import { dependencies } from '../package.json';

/** The providers whose packages run whole jobs. docs/ai-sdk.md shows this table, and providers.ts has a model for each row. */
export const PROVIDERS = {
  fal: { service: 'fal', model: 'veo3', calls: 'doStart, doStatus' },
  replicate: { service: 'Replicate', model: 'bytedance/seedance-1-lite', calls: 'doStart, doStatus' },
  google: { service: 'Gemini API', model: 'veo-3.1-generate-preview', calls: 'doStart, doStatus' },
  bytedance: { service: 'ModelArk', model: 'seedance-1-0-pro-250528', calls: 'doGenerate' },
  xai: { service: 'xAI', model: 'grok-imagine-video', calls: 'doStart, doStatus' },
  alibaba: { service: 'Model Studio', model: 'wan3.0-video', calls: 'doStart, doStatus' },
  'google-vertex': { service: 'Vertex AI', model: 'veo-3.1-generate-001', calls: 'doStart, doStatus' },
} as const;

export type ProviderName = keyof typeof PROVIDERS;

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as ProviderName[];

/** What each provider's jobs meet, and how they end. */
export const SCENARIOS = {
  success: 'submit, polls and download; the stored file is what the service made',
  failure: 'the task fails: `GenerationFailed`',
  refusal: 'the content policy refuses: `ContentRefused`',
  '429': 'one 429 with `Retry-After`, then a video from one task',
  adopted: 'the answer to the submit is lost: one POST, the job is held, and adopts the task',
  resubmitted: 'the same, and resubmits when told to: two POSTs, two tasks',
  'link expired': 'the first link is dead; the next poll brings another',
} as const;

export type ScenarioName = keyof typeof SCENARIOS;

/** A provider that answers with bytes has no link. */
const LEFT_OUT: Partial<Record<ProviderName, ScenarioName[]>> = { 'google-vertex': ['link expired'] };

export const scenariosOf = (provider: ProviderName): ScenarioName[] =>
  (Object.keys(SCENARIOS) as ScenarioName[]).filter((name) => !LEFT_OUT[provider]?.includes(name));

/** One package of each style: `npm test` runs everything with these, and one job with each of the others. */
export const ONE_OF_EACH_STYLE: readonly ProviderName[] = ['fal', 'bytedance'];

export const packageOf = (provider: ProviderName) => `@ai-sdk/${provider}` as const;

/** The version that is installed: package.json pins it, and a test compares it with what the package says of itself. */
export const versionOf = (provider: ProviderName): string => dependencies[packageOf(provider)];

/** The table of the page. */
export function whatWasRun(): string {
  const columns = Object.keys(SCENARIOS) as ScenarioName[];
  const rows = PROVIDER_NAMES.map((name) => {
    const { model, calls } = PROVIDERS[name];
    const ran = columns.map((column) => (scenariosOf(name).includes(column) ? 'yes' : 'no link'));
    return [`\`${packageOf(name)}\` ${versionOf(name)}`, `\`${model}\``, calls, ...ran];
  });
  const head = ['Package', 'Model', 'What is called', ...columns];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
