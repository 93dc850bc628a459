import { z } from 'zod';
import { type Environment, httpUrl, type SettingGroup, text } from './read-setting';

const ENDPOINT_FIX = 'give the address of an OpenTelemetry collector, such as http://127.0.0.1:4318';

/** Those of OpenTelemetry's that decide whether there are traces. Its SDK reads all others itself. */
export const TRACE_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    type: httpUrl('is not an http or https URL').optional(),
    meaning: 'The OpenTelemetry collector that traces go to.',
    page: 'observability.md#traces',
    unset: 'no traces',
    fix: ENDPOINT_FIX,
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    type: httpUrl('is not an http or https URL').optional(),
    meaning: 'The same, for traces alone, with its whole path.',
    page: 'observability.md#traces',
    unset: 'no traces',
    fix: 'give the address with its path, such as http://127.0.0.1:4318/v1/traces',
  },
  OTEL_TRACES_EXPORTER: {
    type: text.optional(),
    meaning: 'How traces leave the process: `otlp`, `console`, or `none` for no traces.',
    page: 'observability.md#traces',
    unset: '`otlp` if there is an endpoint',
    fix: 'give one of otlp, console, none',
  },
  OTEL_SERVICE_NAME: {
    type: text.optional(),
    meaning: 'What the process is called in traces.',
    page: 'observability.md#traces',
    unset: '`videogen`',
    fix: 'give a name, or unset it',
  },
  OTEL_SDK_DISABLED: {
    // OpenTelemetry takes any other word for false.
    type: z.string().optional(),
    meaning: '`true` for no traces, whatever else is set.',
    page: 'observability.md#traces',
    unset: '`false`',
    fix: 'set it to true or false',
  },
} satisfies SettingGroup;

/** Whether the environment asks for traces. Never throws: a platform may set these variables for all that it runs. */
export function wantsTraces(env: Environment = process.env): boolean {
  const given = (name: keyof typeof TRACE_SETTINGS) => env[name]?.trim() || undefined;
  if (given('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return false;
  const exporter = given('OTEL_TRACES_EXPORTER');
  if (exporter !== undefined) return exporter !== 'none';
  return [given('OTEL_EXPORTER_OTLP_ENDPOINT'), given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')].some(Boolean);
}

/** What our processes are called in traces; undefined if the environment names them. */
export function readDefaultServiceName(env: Environment = process.env): string | undefined {
  const isNamed =
    env.OTEL_SERVICE_NAME?.trim() || /\bservice\.name=/.test(env.OTEL_RESOURCE_ATTRIBUTES ?? '');
  return isNamed ? undefined : 'videogen';
}
