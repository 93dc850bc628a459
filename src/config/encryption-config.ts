import { z } from 'zod';
import type { EncryptionKeyRing } from '../encryption/key-ring';
import { parseKeyRing } from '../encryption/key-ring';
import { secretIfSet } from './read-files';
import { type Environment, problemWith, type SettingGroup } from './read-setting';

/** Its value is never shown. */
const keyRing = z.string().superRefine((given, { addIssue }) => {
  const parsed = parseKeyRing(given);
  if ('problem' in parsed) addIssue(parsed.problem);
});

export const ENCRYPTION_SETTINGS = {
  VIDEOGEN_ENCRYPTION_KEYS: {
    type: keyRing.optional(),
    meaning:
      'The keys that encrypt what jobs leave in Temporal, as `ID:BASE64` with commas between them. The first encrypts, all decrypt. [More](encryption.md)',
    unset: 'nothing is encrypted',
    fix: 'make a key with: videogen encryption-key NAME, and put it first',
    isSecret: true,
  },
} satisfies SettingGroup;

/** The keys that encrypt payloads; undefined when there are none. They are read once: new keys need a restart. */
export function readEncryptionKeys(env?: Environment): EncryptionKeyRing | undefined {
  const setting = ENCRYPTION_SETTINGS.VIDEOGEN_ENCRYPTION_KEYS;
  const read = secretIfSet('VIDEOGEN_ENCRYPTION_KEYS', setting, env);
  if (read === undefined) return undefined;
  const parsed = parseKeyRing(read());
  // It was just read by the same rules, unless the file has changed since.
  if ('problem' in parsed) throw problemWith('VIDEOGEN_ENCRYPTION_KEYS', setting, parsed.problem);
  return parsed.ring;
}
