import type { ServiceOfFile } from '../config/services-config';
import type { JobOptions } from '../contract/job';
import { type KnownServices, pinChoice, pinServices } from '../contract/known-services';
import { choiceProblem } from '../contract/service-choice';
import { badField } from './http-errors';

/** The services that the gateway knows; undefined if the workers alone know theirs. */
export type GatewayServices = KnownServices<ServiceOfFile> | undefined;

/**
 * The options with the service of a request and the name of its key, or with the services to try. A `model` that is the name of a
 * service means it, because OpenAI's clients have no other field.
 */
export function chooseService(
  options: JobOptions,
  model: unknown,
  services: GatewayServices,
): { options: JobOptions; known?: ServiceOfFile | undefined } {
  const { service, services: several } = options;
  const problem = choiceProblem(options);
  if (problem !== undefined) throw badField('services', `${problem}.`);
  if (services === undefined) return { options };
  const isService = typeof model === 'string' && Object.hasOwn(services.services, model);
  const pinned = several
    ? pinServices(several, services)
    : pinChoice({ service: service ?? (isService ? model : undefined) }, services);
  if (pinned.ok) return { options: { ...options, ...pinned.choice }, known: pinned.known };
  throw badField(pinned.field, `${pinned.problem}.`);
}
