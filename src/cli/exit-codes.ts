import { ForgetRefused, RetryRefused, TemporalUnreachable } from '../client/refusals';
import { ConfigError } from '../config/service-config';
import { printableJson } from '../contract/clean-text';
import { firstLineOf } from '../contract/error-code';
import type { RefusedContent } from '../contract/failure-details';
import { FAILURES } from '../contract/failure-table';
import { adoptCommand, DecisionRefused } from '../contract/lost-submit';
import { describeEvent, isVideoFailure, type VideoFailure } from '../contract/video-failure';
import { StorageFault } from '../storage';
import { PortInUse, SearchStopped, ServerUnavailable } from '../temporal-server';
import { CopyFailed } from './copy-out';
import { NoSuchJob } from './find-job';
import { BadLines } from './read-input';
import { EXIT, printLine, type Terminal } from './terminal';

/** What the caller has to change. */
const USAGE_ERRORS = [ConfigError, PortInUse, DecisionRefused, NoSuchJob, RetryRefused, ForgetRefused];

/** The storage did not do what it was asked. */
const STORAGE_ERRORS = [CopyFailed, StorageFault];

export function exitCodeOf(error: unknown): number {
  if (isVideoFailure(error)) return error.exitCode;
  if (USAGE_ERRORS.some((kind) => error instanceof kind)) return EXIT.usage;
  if (STORAGE_ERRORS.some((kind) => error instanceof kind)) return FAILURES.StorageFailed.exitCode;
  if (error instanceof TemporalUnreachable || error instanceof ServerUnavailable) return EXIT.noTemporal;
  if (error instanceof SearchStopped) return EXIT.interrupted;
  return EXIT.unexpected;
}

/** An error for programs: `message` says what happened, `advice` what to do. */
interface ErrorObject extends Omit<RefusedContent, 'charged'> {
  type: string;
  message: string;
  taskId: string | undefined;
  advice: string | undefined;
  /** Of a failed job. */
  charged?: VideoFailure['charged'];
  code?: string | undefined;
}

/** Any error as `--json` prints it. */
export function errorObject(error: unknown): { error: ErrorObject } {
  if (isVideoFailure(error)) {
    const { type, details, taskId, advice, charged } = error;
    const { code, stage, field } = details;
    return {
      error: {
        type,
        message: describeEvent(type, details),
        taskId,
        advice,
        charged,
        ...(type === 'ContentRefused' && { code, stage, field }),
      },
    };
  }
  const known = error instanceof Error ? error : new Error(String(error));
  const message = messageWithCause(known);
  return { error: { type: known.name, message, taskId: undefined, advice: undefined } };
}

/** Prints an error for people and, with `--json`, for programs. The last line is the command that adopts a paid task. */
export function reportError(error: unknown, { json }: { json?: boolean }, terminal: Terminal): number {
  for (const line of linesOf(error)) printLine(terminal, line);
  const adopt = isVideoFailure(error) && adoptCommand(error);
  if (adopt) {
    const isKnown = error.taskId !== undefined;
    const pickUp = isKnown ? 'Pick the task up again' : 'If the task is found at the service, pick it up';
    printLine(terminal, `${pickUp} with: ${adopt}`);
  }
  if (json) terminal.out(printableJson(errorObject(error)));
  return exitCodeOf(error);
}

function linesOf(error: unknown): readonly string[] {
  if (error instanceof BadLines) return error.lines;
  if (error instanceof RetryRefused)
    return [error.message, ...error.commands.map((command) => `  ${command}`)];
  return [error instanceof Error ? messageWithCause(error) : String(error)];
}

/** The SDK's own sentence says only which call failed; the server says why. */
function messageWithCause({ name, message, cause }: Error): string {
  return name === 'ServiceError' && cause !== undefined ? `${message}: ${firstLineOf(cause)}` : message;
}
