import { wordsOf } from '../support/docs-page';

/** The commands of the deployment page that `npm run compose:try` runs as they are written there. */
export const COMMANDS = {
  settings: 'cp .env.example .env',
  up: 'docker compose up --build --detach',
  generate: 'docker compose run --rm worker generate "A red fox in the snow"',
  key: 'docker compose logs --no-log-prefix gateway-key',
  anotherKey: 'docker compose run --rm gateway-key gateway-key web_shop',
  copy: 'docker compose cp worker:/videos ./videos',
  down: 'docker compose down',
} as const;

/** The arguments of `docker` in one of them. */
export const argumentsOf = (command: string): string[] => wordsOf(command).slice(1);
