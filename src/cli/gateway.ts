import { monitorAddress, readLogConfig } from '../config/operation-config';
import { createVideoGateway } from '../gateway';
import { keepHeapSmall } from './keep-heap-small';
import { describeMonitor, readPort } from './read-port';
import { EXIT, printLine, type Terminal, untilInterrupted } from './terminal';

interface GatewayCommandOptions {
  host?: string;
  port: string;
}

/** `videogen gateway`: serves the interface until Ctrl-C or SIGTERM, then answers what has begun. */
export async function gateway(options: GatewayCommandOptions, terminal: Terminal): Promise<number> {
  keepHeapSmall();
  const monitor = monitorAddress(undefined, terminal.env);
  const { format } = readLogConfig({ level: 'info', isTerminal: terminal.isTerminal }, terminal.env);
  const running = await createVideoGateway({
    env: { ...terminal.env, VIDEOGEN_LOG_FORMAT: format },
    host: options.host,
    port: readPort('--port', options.port),
    log: (line) => printLine(terminal, line),
    monitor,
  });
  printLine(terminal, `The gateway is at ${running.url}. Ctrl-C ends it.`);
  if (monitor) printLine(terminal, describeMonitor(monitor));
  if (!running.hasKeys) {
    printLine(
      terminal,
      'It has no keys, so only this machine can connect: make one with videogen gateway-key NAME.',
    );
  }
  await untilInterrupted(terminal);
  await running.close();
  return EXIT.ok;
}
