import { linksIn } from './operation-links';
import type { AiSdkVideoModel } from './video-model-types';

/** Video models of fal have this address built in: none of their settings says it. */
export const FAL_QUEUE = 'https://queue.fal.run';

/** By the first part of the provider's name: `fal.video`. */
const BUILT_IN: ReadonlyMap<string, string> = new Map([['fal', FAL_QUEUE]]);

/** Where models of the AI SDK keep the address of their service, in their `config`. */
const ADDRESS_SETTINGS = ['baseURL', 'baseUrl'];

/**
 * The origins of the service behind a model: those that may get its key. They come from what the host has set up, so that
 * every worker knows the same, and never from a task id: a task id may come from anybody who starts a job or adopts a task.
 */
export class OwnOrigins {
  private readonly known = new Set<string>();

  /** Throws a TypeError for a name that is no address. */
  constructor(named: readonly string[]) {
    for (const name of named) {
      if (this.add(name)) continue;
      throw new TypeError(
        `aiSdkService: origins has ${name}, which is no address such as https://api.example.com.`,
      );
    }
  }

  learnFrom(model: AiSdkVideoModel): void {
    const config: unknown = Reflect.get(model, 'config');
    const [maker = ''] = model.provider.split('.');
    const settings = ADDRESS_SETTINGS.map((name) => Reflect.get(Object(config), name));
    for (const address of [...settings, BUILT_IN.get(maker)]) this.add(address);
  }

  /** Whether it was an address. */
  add(address: unknown): boolean {
    const { origin, protocol } =
      typeof address === 'string' && URL.canParse(address) ? new URL(address) : { origin: '', protocol: '' };
    const isWeb = protocol === 'https:' || protocol === 'http:';
    if (isWeb) this.known.add(origin);
    return isWeb;
  }

  /** Of a model that does not say where its service is, nothing is known. */
  get areKnown(): boolean {
    return this.known.size > 0;
  }

  has({ origin }: URL): boolean {
    return this.known.has(origin);
  }

  /** Where an operation leads that is not at the service; undefined when it leads nowhere else. */
  foreignIn(operation: unknown): URL | undefined {
    return linksIn(operation).find((link) => !this.has(link));
  }

  /** For a sentence. */
  toString(): string {
    return [...this.known].join(', ');
  }
}

/** A link's origin for a sentence; those of `data:` and the like have none. */
export const originText = ({ origin, protocol }: URL): string => (origin === 'null' ? protocol : origin);
