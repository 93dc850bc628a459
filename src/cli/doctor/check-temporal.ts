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
        return judgeServer(place.engine);
    }
  },
};

function judgeServer(engine: ServerAtHand): Finding {
  switch (engine.kind) {
    case 'found':
      return ok(`${NOBODY} with ${engine.path}`);
    case 'unusable':
      return wrong(
        `the Temporal CLI that VIDEOGEN_TEMPORAL_CLI names ${engine.flaw}`,
        'Correct VIDEOGEN_TEMPORAL_CLI, or unset it to have one found.',
      );
    case 'to-get':
      return engine.canBuild
        ? ok(`${NOBODY}, which it downloads or builds with Go first: minutes, once`)
        : warning(
            `${NOBODY}, which it has to download first`,
            'If it cannot: put the Temporal CLI or Go on PATH, or set TEMPORAL_ADDRESS to a running server.',
          );
  }
}
