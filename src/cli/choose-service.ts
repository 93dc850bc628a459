import { ConfigError } from '../config/read-setting';
import {
  type Environment,
  namesAService,
  readKnownServices,
  type ServiceOfFile,
} from '../config/service-config';
import { readSetting } from '../config/settings';
import { readTemporalAddress } from '../config/temporal-config';
import { shown } from '../contract/clean-text';
import { type GivenChoice, pinChoice, servicesOf } from '../contract/service-choice';
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
  const given = several.length > 1 ? { services: several } : { service };
  const { choice, known } = pinChoice(given, services, refused);
  if (services !== undefined && servicesOf(choice).length === 0 && isHere && !namesAService(env)) {
    throw refused(
      `there is no default service: give --service, one of ${Object.keys(services.services).join(', ')}, or set default in VIDEOGEN_SERVICES_FILE`,
    );
  }
  return {
    choice,
    known,
    requestFields: known?.requestFields ?? readSetting('VIDEOGEN_PROFILE', env)?.requestFields,
  };
}

const refused = (message: string) => new VideoFailure('InvalidRequest', { message });
