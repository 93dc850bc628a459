import { type GivenChoice, pinChoice } from '../client/pin-choice';
import { ConfigError } from '../config/read-setting';
import { type Environment, namesAService, readProfile } from '../config/service-config';
import { readKnownServices, type ServiceOfFile } from '../config/services-config';
import { readTemporalAddress } from '../config/temporal-config';
import { shown } from '../contract/clean-text';
import { servicesOf } from '../contract/service-choice';
import { VideoFailure } from '../contract/video-failure';

/** The service of a command, as far as it is known here. */
interface ChosenService {
  /** What the input of the job says. */
  choice: GivenChoice;
  known?: ServiceOfFile | undefined;
  /** Further fields that its requests may have. */
  requestFields: readonly string[] | undefined;
}

/** Refuses at once what the worker would refuse: on this machine its services are those of the settings here. */
export function chooseService(service: string | undefined, env: Environment): ChosenService {
  const services = readKnownServices(env);
  const isHere = readTemporalAddress(env) === undefined;
  if (services === undefined && service !== undefined && isHere) {
    throw new ConfigError(
      `--service is ${shown(service)}, and there are no services with names here: list them in a file, and set VIDEOGEN_SERVICES_FILE to it.`,
    );
  }
  const several = service?.split(',').map((name) => name.trim()) ?? [];
  const pinned = pinChoice(several.length > 1 ? { services: several } : { service }, services);
  if (!pinned.ok) throw new VideoFailure('InvalidRequest', { message: pinned.problem });
  const { choice, known } = pinned;
  if (services !== undefined && servicesOf(choice).length === 0 && isHere && !namesAService(env)) {
    throw new VideoFailure('InvalidRequest', {
      message: `there is no default service: give --service, one of ${Object.keys(services.services).join(', ')}, or set default in VIDEOGEN_SERVICES_FILE`,
    });
  }
  return { choice, known, requestFields: known?.requestFields ?? readProfile(env)?.requestFields };
}
