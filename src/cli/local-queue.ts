import { createHash } from 'node:crypto';
import { type Environment, namesAService, readServiceConfig } from '../config/service-config';
import { readStorageConfig } from '../config/storage-config';
import { readTaskQueue } from '../config/temporal-config';
import { storageAddress } from '../storage';

/**
 * Each service with each storage has a queue of its own, the same whoever runs the server: a job never gets to a worker
 * of another service, or to one that would store its video elsewhere.
 */
export function localQueue(env: Environment): string {
  return `${queuesOfService(env)}${digestOf(storageAddress(readStorageConfig(env)))}`;
}

/** How the names of all queues of a service begin, whatever the storage is. */
export function queuesOfService(env: Environment): string {
  const service = namesAService(env) ? digestOf(readServiceConfig(env).baseUrl) : 'emulator';
  return `${readTaskQueue(env)}-${service}-`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
