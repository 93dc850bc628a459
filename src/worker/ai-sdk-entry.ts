import type { OpenedVideoService, ServiceProfile } from '../service';

/** A service of the file that is a video model of the AI SDK. */
export interface AiSdkEntry {
  package: string;
  model: string;
  baseUrl?: string;
  apiKey: () => string;
  profile?: ServiceProfile;
  downloadAllow?: readonly string[];
}

/** What is used of the folder `src/ai-sdk`. */
interface AiSdk {
  loadAiSdkService(entry: AiSdkEntry): OpenedVideoService;
  /** What is wrong with the package or the model, in one sentence. */
  findAiSdkProblem(entry: Pick<AiSdkEntry, 'package' | 'model'>): Promise<string | undefined>;
}

/** The service of an entry. Only who has such a service loads anything of the AI SDK. */
export function openAiSdkService(entry: AiSdkEntry): OpenedVideoService {
  return loadAiSdk().loadAiSdkService(entry);
}

/** Why the entry cannot be used; undefined when it can. Nothing is sent. */
export function findAiSdkProblem(entry: Pick<AiSdkEntry, 'package' | 'model'>): Promise<string | undefined> {
  return loadAiSdk().findAiSdkProblem(entry);
}

function loadAiSdk(): AiSdk {
  const loaded: typeof import('../ai-sdk/load-ai-sdk-service') = require('../ai-sdk/load-ai-sdk-service');
  return loaded;
}
