import { namesAService, readApiKey, readBaseUrl, readProfile } from '../../config/service-config';
import { keyReader, readServices, type ServiceInFile } from '../../config/services-config';
import { readTemporalAddress } from '../../config/temporal-config';
import type { ServiceProfile } from '../../service';
import { type Finding, failed, ok, warning } from './check';
import type { Context } from './context';

/** A service of the settings. One from the file has a name. */
export interface NamedService {
  name?: string;
  baseUrl: string;
  profile?: ServiceProfile | undefined;
  readKey: () => () => string;
}

export type NamedServices =
  | { kind: 'named'; services: readonly NamedService[]; models: readonly ServiceInFile[] }
  | { kind: 'none'; found: string };

/** The configured services. Without one, jobs use the service of a remote worker, or the local emulator. */
export function namedServices({ env }: Context): NamedServices {
  const file = readServices(env);
  const inFile = [...(file?.services.values() ?? [])];
  const ofFile = inFile.flatMap((service): NamedService[] => {
    const { name, baseUrl, profile } = service;
    return baseUrl === undefined ? [] : [{ name, baseUrl, profile, readKey: () => keyReader(service, env) }];
  });
  const unnamed = namesAService(env)
    ? [{ baseUrl: readBaseUrl(env), profile: readProfile(env), readKey: () => readApiKey(env) }]
    : [];
  const services = [...unnamed, ...ofFile];
  if (file !== undefined || services.length > 0)
    return { kind: 'named', services, models: inFile.filter(({ aiSdk }) => aiSdk !== undefined) };
  const found =
    readTemporalAddress(env) === undefined
      ? 'VIDEO_API_BASE_URL is not set: the emulator is used'
      : 'VIDEO_API_BASE_URL is not set here: workers use their own; one that starts here needs it';
  return { kind: 'none', found };
}

/** One finding about several services: as bad as the worst, with what was found and how to fix it for each. */
export function togetherOf(findings: readonly { name?: string; finding: Finding }[]): Finding {
  const said = (text: string, name?: string) => (name === undefined ? text : `${name}: ${text}`);
  const found = findings.map(({ name, finding }) => said(finding.found, name)).join('; ');
  const fixes = findings.flatMap(({ name, finding }) => ('fix' in finding ? said(finding.fix, name) : []));
  const fix = [...new Set(fixes)].join('\n');
  const has = (state: Finding['state']) => findings.some(({ finding }) => finding.state === state);
  if (has('failed')) return failed(found, fix);
  return has('warning') ? warning(found, fix) : ok(found);
}
