import type { Setting } from '../../src/config/read-setting';
import { SETTINGS } from '../../src/config/settings';

/** The settings as the configuration page shows them: one table per group. */
export function settingsTable(): string {
  return Object.entries(SETTINGS)
    .map(([group, settings]) => {
      const rows = Object.entries<Setting>(settings).map(([name, setting]) => row(name, setting));
      return [`## ${group}`, '', '| Variable | Meaning | Default |', '| --- | --- | --- |', ...rows].join(
        '\n',
      );
    })
    .join('\n\n');
}

function row(name: string, { meaning, unset, type, isSecret }: Setting): string {
  const names = isSecret ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``;
  return ['', names, meaning, unset ?? defaultOf(type), ''].join(' | ').trim().replace('|  |', '| |');
}

function defaultOf(type: Setting['type']): string {
  const value = type.parse(undefined);
  return value === undefined ? '' : `\`${value}\``;
}
