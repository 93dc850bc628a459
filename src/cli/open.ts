import { spawn } from 'node:child_process';
import { ConfigError } from '../config/service-config';
import { readTemporalAddress } from '../config/temporal-config';
import { printableJson } from '../contract/clean-text';
import { devCommand } from './commands';
import { EXIT } from './exit-codes';
import { findJob } from './find-job';
import { onJob } from './job-action';
import type { OpenOptions } from './options';
import { printLine, type Terminal } from './terminal';

/** `videogen open`: prints the address of a job in the Temporal UI and, on a terminal, opens it in a browser. */
export function open(workflowId: string, options: OpenOptions, terminal: Terminal): Promise<number> {
  return onJob(workflowId, options, terminal, async (session) => {
    // An item is shown in its batch.
    const overview = await findJob(session, workflowId);
    const { uiUrl, client } = session;
    if (uiUrl === undefined) throw noUi(terminal);
    const url = workflowUrl(uiUrl, client.options.namespace, overview.workflowId);
    terminal.out(options.json ? printableJson({ workflowId, url }) : url);
    if (options.browser && !options.json && terminal.outScreen() !== undefined) {
      const isOpened = await openBrowser(url, terminal.env);
      if (!isOpened) printLine(terminal, 'No browser could be started here: open the address yourself.');
    }
    return EXIT.ok;
  });
}

/** Without a run, so that it leads to the last one. */
export function workflowUrl(uiUrl: string, namespace: string, workflowId: string): string {
  const base = uiUrl.replace(/\/+$/, '');
  return `${base}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}

function noUi({ env }: Terminal): ConfigError {
  return new ConfigError(
    readTemporalAddress(env) === undefined
      ? `No Temporal UI runs on this machine: start it with: ${devCommand(env.VIDEOGEN_DATA)}`
      : 'VIDEOGEN_TEMPORAL_UI_URL is not set: set it to the address of the Temporal UI, such as http://localhost:8233.',
  );
}

const OPENERS: Partial<Record<NodeJS.Platform, [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Whether a program took the address. No shell sees it: a job may have any name. */
function openBrowser(url: string, { BROWSER, PATH }: Terminal['env']): Promise<boolean> {
  const [program, ...args] = BROWSER ? [BROWSER] : (OPENERS[process.platform] ?? ['xdg-open']);
  return new Promise((resolve) => {
    const child = spawn(program ?? '', [...args, url], {
      stdio: 'ignore',
      detached: true,
      env: { ...process.env, PATH },
    });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
