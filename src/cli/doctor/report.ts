import { type Environment, readKeyIfSet } from '../../config/service-config';
import { readS3Connection } from '../../config/storage-config';
import { readTemporalConfig } from '../../config/temporal-config';
import type { CheckName, Finding } from './check';

export interface ToldCheck {
  name: CheckName;
  ok: boolean;
  found: string;
  fix?: string;
}

/** What a program is told. */
export interface DoctorReport {
  ok: boolean;
  checks: ToldCheck[];
}

export function reportOf(findings: readonly { name: CheckName; finding: Finding }[]): DoctorReport {
  const checks = findings.map(({ name, finding }) => toldCheck(name, finding));
  return { ok: checks.every((check) => check.ok), checks };
}

function toldCheck(name: CheckName, finding: Finding): ToldCheck {
  const { state, found } = finding;
  switch (state) {
    case 'ok':
      return { name, ok: true, found };
    case 'warning':
      return { name, ok: true, found, fix: finding.fix };
    case 'wrong':
      return { name, ok: false, found, fix: finding.fix };
    case 'skipped':
      return { name, ok: false, found: `skipped: ${found}` };
  }
}

/** Hides the keys that are set wherever they turn up, for others choose the words of some findings. */
export function secretHider(env: Environment): (finding: Finding) => Finding {
  const secrets = [readKeyIfSet, readTemporalKey, readS3Secret, readS3Token].flatMap((read) => {
    try {
      return read(env) ?? [];
    } catch {
      // What cannot be read is sent nowhere, and so does not come back.
      return [];
    }
  });
  const hide = (text: string) => secrets.reduce((told, secret) => told.replaceAll(secret, '…'), text);
  return (finding) =>
    'fix' in finding
      ? { ...finding, found: hide(finding.found), fix: hide(finding.fix) }
      : { ...finding, found: hide(finding.found) };
}

function readS3Secret(env: Environment): string | undefined {
  return readS3Connection(env).credentials?.secretAccessKey;
}

function readS3Token(env: Environment): string | undefined {
  return readS3Connection(env).credentials?.sessionToken;
}

function readTemporalKey(env: Environment): string | undefined {
  const { apiKey } = readTemporalConfig(env).connectionOptions;
  return typeof apiKey === 'string' ? apiKey : undefined;
}
