import { z } from 'zod';
import type { EncryptionKeyRing } from '../encryption/key-ring';
import { parseKeyRing } from '../encryption/key-ring';
import { secretIfSet } from './read-files';
import { type Environment, problemWith, type SettingGroup, text } from './read-setting';

const KEYS_FIX = 'make a key with: videogen encryption-key NAME, and put it first';

/** Its value is never shown. */
const keyRing = z.string().superRefine((given, { addIssue }) => {
  const parsed = parseKeyRing(given);
  if ('problem' in parsed) addIssue(parsed.problem);
});

export const ENCRYPTION_SETTINGS = {
  VIDEOGEN_ENCRYPTION_KEYS: {
    type: keyRing.optional(),
    meaning:
      'The keys that encrypt what jobs leave in Temporal, as `ID:BASE64` with commas between them. The first encrypts, all decrypt.',
    page: 'encryption.md',
    unset: 'nothing is encrypted, or:',
    fix: KEYS_FIX,
  },
  VIDEOGEN_ENCRYPTION_KEYS_FILE: {
    type: text.optional(),
    meaning: 'A file with those keys, one a line.',
    fix: `name a file that can be read and has keys in it; ${KEYS_FIX}`,
  },
} satisfies SettingGroup;

const NAME = 'VIDEOGEN_ENCRYPTION_KEYS';

/** The keys that encrypt payloads; undefined when there are none. They are read once: new keys need a restart. */
export function readEncryptionKeys(env?: Environment): EncryptionKeyRing | undefined {
  const setting = ENCRYPTION_SETTINGS[NAME];
  const read = secretIfSet(NAME, { setting, type: keyRing }, env);
  if (read === undefined) return undefined;
  const parsed = parseKeyRing(read());
  // secretIfSet has read the same text by the same rules, unless the file has changed since.
  if ('problem' in parsed) throw problemWith(NAME, setting, parsed.problem);
  return parsed.ring;
}
