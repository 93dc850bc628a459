import type { Client } from '@temporalio/client';
import { connectClient } from '../client/connect';
import { createVideoClient } from '../client/video-client';
import { monitorAddress, readEncryptionKeys, readLogConfig } from '../config/operation-config';
import { ConfigError } from '../config/read-setting';
import type { Environment } from '../config/service-config';
import type { MonitorAddress } from '../config/setting-forms';
import { readSecret, readSetting } from '../config/settings';
import { readStorageConfig } from '../config/storage-config';
import { errorCode } from '../contract/error-code';
import { EncryptionCodec } from '../encryption/encryption-codec';
import { createStorage, type VideoStorage } from '../storage';
import { createLogger } from '../worker/logger';
import { openMonitor } from '../worker/monitor';
import { buildGateway, type GatewayTools } from './gateway';
import { openKeyFile } from './gateway-keys';
import { gatewayHealth } from './health';
import { callsSettled } from './temporal-deadline';
import { createGatewayMetrics } from './watch-requests';

/** What createVideoGateway may be given; the environment says the rest. */
export interface VideoGatewayOptions {
  /** The settings for whatever is not given here. Default: `process.env`. */
  env?: Environment;
  /** Your own Temporal client, which you close. */
  client?: Client;
  /** The task queue of the jobs. Default: `VIDEOGEN_TASK_QUEUE`, or `video-generation`. */
  taskQueue?: string;
  /** Where the workers store videos. Default: `VIDEOGEN_STORAGE`. */
  storage?: VideoStorage;
  /** The address to listen on. Default: 127.0.0.1. Without keys it must be this machine. */
  host?: string;
  /** The port to listen on. Default: 8787; 0 for a free one. */
  port?: number;
  /** The address of the Temporal UI, to which the page then links. Default: `VIDEOGEN_TEMPORAL_UI_URL`. */
  temporalUiUrl?: string;
  /**
   * Where /metrics, /livez and /readyz are served apart from the interface; `false` for nowhere. Default:
   * `VIDEOGEN_MONITOR_PORT`.
   */
  monitor?: MonitorAddress | false;
  /**
   * Whether it decrypts payloads for the Temporal UI, at `/codec`. Default: whether `VIDEOGEN_GATEWAY_CODEC_KEYS` names the
   * keys that may. A gateway without keys does it for this machine.
   */
  codec?: boolean;
  /** Where the lines of its log go: JSON, unless VIDEOGEN_LOG_FORMAT is `pretty`. Default: standard error. */
  log?: (line: string) => void;
}

/** A running gateway. */
export interface VideoGateway {
  /** Its address, such as http://127.0.0.1:8787. */
  url: string;
  /** Whether callers need a key. */
  hasKeys: boolean;
  /** Answers what has begun, ends event streams and closes. */
  close(): Promise<void>;
}

/** Orchestrators kill a process 30 s after they ask it to end, or earlier. */
const CLOSE_WITHIN_MS = 8_000;
const CLOSE_IDLE_EVERY_MS = 50;

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Serves the interface of the video service, with a durable job behind every POST. All state is in Temporal, so it can
 * restart at any time and run in many copies.
 *
 * @example
 * ```ts
 * const gateway = await createVideoGateway({ port: 8787 });
 * console.log(gateway.url);
 * ```
 */
export async function createVideoGateway(options: VideoGatewayOptions = {}): Promise<VideoGateway> {
  const { env, host = '127.0.0.1', port = 8787 } = options;
  const keysFile = readSetting('VIDEOGEN_GATEWAY_KEYS_FILE', env);
  const logger = createLogger({
    ...readLogConfig({ level: 'info', isTerminal: !options.log && process.stderr.isTTY }, env),
    write: options.log ?? ((line) => process.stderr.write(`${line}\n`)),
  });
  if (keysFile === undefined && !LOOPBACK.has(host)) {
    throw new ConfigError(
      `Without keys the gateway listens on 127.0.0.1 only, not on ${host}: make a key with videogen gateway-key NAME, and set VIDEOGEN_GATEWAY_KEYS_FILE.`,
    );
  }
  const keys =
    keysFile === undefined
      ? undefined
      : openKeyFile(keysFile, ({ message }) => logger.event('keysNotRead', { reason: message }));
  const settings = {
    publicUrl: readSetting('VIDEOGEN_GATEWAY_URL', env),
    hookSecret: readSecret('VIDEOGEN_GATEWAY_HOOK_SECRET', env),
    temporalUiUrl: options.temporalUiUrl ?? readSetting('VIDEOGEN_TEMPORAL_UI_URL', env),
    corsOrigins: readSetting('VIDEOGEN_GATEWAY_CORS_ORIGINS', env),
  };
  const codec = codecOf(options, keysFile);
  const storage = options.storage ?? createStorage(readStorageConfig(env));
  const { requestFields = [] } = readSetting('VIDEOGEN_PROFILE', env) ?? {};
  const services = readSetting('VIDEOGEN_SERVICES_FILE', env);
  const client = options.client ?? (await connectClient(env));
  const videos = await createVideoClient({ env, client, taskQueue: options.taskQueue });
  const monitored = monitorAddress(options.monitor, env);
  const metrics = monitored && createGatewayMetrics();
  const app = await buildGateway({
    client,
    videos,
    storage,
    keys,
    requestFields,
    services,
    ...settings,
    codec,
    metrics,
    logger,
  });
  let closeMonitor: (() => Promise<void>) | undefined;
  let isClosing = false;
  const close = async () => {
    isClosing = true;
    // A client that reads its video slowly must not hold up the end, nor one that keeps its connection after its answer.
    const force = setTimeout(() => app.server.closeAllConnections(), CLOSE_WITHIN_MS);
    const idle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
    await app.close().finally(() => {
      clearTimeout(force);
      clearInterval(idle);
    });
    await closeMonitor?.();
    await callsSettled(client);
    if (!options.client) await client.connection.close();
  };
  try {
    const url = await app.listen({ host, port });
    if (monitored) {
      const health = () => gatewayHealth({ client, storage }, isClosing);
      closeMonitor = await openMonitor(monitored, { health, registry: metrics?.registry });
    }
    return { url, hasKeys: keys !== undefined, close };
  } catch (error) {
    await close();
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(
      `The gateway cannot listen on ${host}, port ${port} (${errorCode(error) ?? error}): give it another port or address.`,
      { cause: error },
    );
  }
}

/** Refuses settings with which nobody could have anything decrypted. */
function codecOf({ env, codec }: VideoGatewayOptions, keysFile: string | undefined): GatewayTools['codec'] {
  const codecKeys = readSetting('VIDEOGEN_GATEWAY_CODEC_KEYS', env);
  if (!(codec ?? codecKeys.length > 0)) return undefined;
  const ring = readEncryptionKeys(env);
  if (ring === undefined) {
    throw new ConfigError(
      'VIDEOGEN_GATEWAY_CODEC_KEYS lets the gateway decrypt, and there are no keys for it: set VIDEOGEN_ENCRYPTION_KEYS too.',
    );
  }
  if (codecKeys.length > 0 && keysFile === undefined) {
    throw new ConfigError(
      'VIDEOGEN_GATEWAY_CODEC_KEYS names keys of a gateway that has none: set VIDEOGEN_GATEWAY_KEYS_FILE, or unset it.',
    );
  }
  return { codec: new EncryptionCodec({ ring }), readers: codecKeys };
}
