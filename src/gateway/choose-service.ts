import { pinChoice } from '../client/pin-choice';
import type { ServiceOfFile } from '../config/services-config';
import type { KnownServices } from '../contract/service-choice';
import { choiceProblem } from '../contract/service-choice';
import { badField } from './http-errors';
import type { VideoOptions } from './job-options';

/** The services that the gateway knows; undefined if the workers alone know theirs. */
export type GatewayServices = KnownServices<ServiceOfFile> | undefined;

/**
 * The options with the service of a request, or with the services to try. A `model` that is the name of a service means it,
 * because OpenAI's clients have no other field.
 */
export function chooseService(
  options: VideoOptions,
  model: unknown,
  services: GatewayServices,
): { options: VideoOptions; known?: ServiceOfFile | undefined } {
  const problem = choiceProblem(options);
  if (problem !== undefined) throw badField('services', `${problem}.`);
  if (services === undefined) return { options };
  const isService = typeof model === 'string' && Object.hasOwn(services.services, model);
  const { service = isService ? model : undefined, services: several } = options;
  const pinned = pinChoice({ service, services: several }, services);
  if (pinned.ok) return { options: { ...options, ...pinned.choice }, known: pinned.known };
  throw badField(pinned.field, `${pinned.problem}.`);
}
