import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const deploy = (file: string) => readFileSync(join(__dirname, '../../deploy', file), 'utf8');

interface Dashboard {
  panels: { targets?: { expr: string }[] }[];
}

interface Alerts {
  groups: { rules: { expr: string }[] }[];
}

/** All expressions of the dashboard and of the alert rules. Grafana replaces the interval by a duration. */
export function namedExpressions(): { dashboard: string[]; alerts: string[] } {
  const { panels }: Dashboard = JSON.parse(deploy('grafana/videogen-dashboard.json'));
  const { groups }: Alerts = parse(deploy('prometheus/videogen-alerts.yml'));
  const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  return {
    dashboard: shown.map((expr) => expr.replaceAll('$__rate_interval', '5m')),
    alerts: groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
  };
}
