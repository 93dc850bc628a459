import { isIPv6 } from 'node:net';
import { ServiceFault } from './service-fault';

/** Which hosts a video may come from where others may not. */
export interface DownloadRules {
  /** Whether a host may be at an address that is not public. */
  mayBePrivate(hostname: string): boolean;
  /** A ServiceFault of the kind `not-allowed` for a link that is neither https nor allowed to be http. */
  checkScheme(link: URL): void;
}

/** A host of a link as it may be told: whoever wrote the link may have put anything there. */
export type TellHost = (hostname: string) => string;

/** The service's own host is trusted as the service is, and so are the hosts that the operator names. */
export function createDownloadRules(
  base: URL,
  downloadAllow: readonly string[],
  tellHost: TellHost,
): DownloadRules {
  const allowed = new Set(downloadAllow.map(comparable));
  const own = comparable(base.hostname);
  return {
    mayBePrivate: (hostname) => comparable(hostname) === own || allowed.has(comparable(hostname)),
    checkScheme({ protocol, hostname }) {
      if (protocol === 'https:') return;
      if (protocol === 'http:' && (base.protocol === 'http:' || allowed.has(comparable(hostname)))) return;
      throw new ServiceFault('not-allowed', {
        message: `the link is not https: add ${tellHost(hostname) || 'its host'} to VIDEOGEN_DOWNLOAD_ALLOW if videos may come from there unencrypted`,
      });
    },
  };
}

/** A host as it is written in one way only: an IPv6 address has many spellings, with brackets and without. */
function comparable(host: string): string {
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return isIPv6(bare) && !bare.includes('%') ? new URL(`http://[${bare}]`).hostname : bare;
}
