import { readEncryptionKeys } from '../../config/encryption-config';
import { type Environment, readKeyIfSet } from '../../config/service-config';
import { readableKeys } from '../../config/services-config';
import { readS3Connection } from '../../config/storage-config';
import { readTemporalConfig } from '../../config/temporal-config';
import { plainHider } from '../../contract/redact';
import type { CheckName, Finding } from './check';

export interface CheckReport {
  name: CheckName;
  ok: boolean;
  found: string;
  fix?: string;
}

/** What `doctor --json` prints. */
export interface DoctorReport {
  ok: boolean;
  checks: CheckReport[];
}

export function reportOf(findings: readonly { name: CheckName; finding: Finding }[]): DoctorReport {
  const checks = findings.map(({ name, finding }) => checkReport(name, finding));
  return { ok: checks.every((check) => check.ok), checks };
}

function checkReport(name: CheckName, finding: Finding): CheckReport {
  const { state, found } = finding;
  switch (state) {
    case 'ok':
      return { name, ok: true, found };
    case 'warning':
      return { name, ok: true, found, fix: finding.fix };
    case 'failed':
      return { name, ok: false, found, fix: finding.fix };
    case 'skipped':
      return { name, ok: false, found: `skipped: ${found}` };
  }
}

/** Redacts the configured keys: findings repeat messages of servers, which may quote a key. */
export function findingRedactor(env: Environment): (finding: Finding) => Finding {
  const keys = [
    readKeyIfSet,
    readableKeys,
    readTemporalKey,
    readS3Secret,
    readS3Token,
    readEncryptionSecrets,
  ].flatMap((read) => {
    try {
      return read(env) ?? [];
    } catch {
      // A key that cannot be read is never sent, so no server can quote it.
      return [];
    }
  });
  // Only whole keys: pieces of a key and links are left alone, because paths and addresses must stay readable.
  const redact = plainHider({ keys: [], wholeValues: keys });
  return (finding) =>
    'fix' in finding
      ? { ...finding, found: redact(finding.found), fix: redact(finding.fix) }
      : { ...finding, found: redact(finding.found) };
}

function readEncryptionSecrets(env: Environment): string[] | undefined {
  return readEncryptionKeys(env)?.secrets();
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
