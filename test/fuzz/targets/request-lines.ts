import { BadLines } from '../../../src/cli/read-input';
import { describeBatch } from '../../../src/client/prepare-start';
import { parseRequestLines } from '../../../src/contract/request';
import { fc } from '../../support/properties';
import { anyText, edited, longText } from '../hostile';
import type { Target } from '../target';

const LINES = [
  '{"prompt":"A red fox in the snow","duration":5}',
  '{"prompt":"fox","resolution":"720p","aspect_ratio":"16:9","seed":7}',
  '{"prompt":"fox","image_url":"https://example.com/fox.png"}',
  '{"prompt":"fox","duraton":5}',
  '',
];

const line = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...LINES) },
  { weight: 4, arbitrary: fc.constantFrom(...LINES).chain(edited) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...LINES), fc.constantFrom(20, 20, 20, 2_000))
      .map(([one, times]) => `${one}\n`.repeat(times)),
  },
  { weight: 1, arbitrary: longText },
);

export const requestLines: Target<{ file: string; text: string }> = {
  inputs: fc.record({
    file: fc.oneof({ weight: 3, arbitrary: fc.constant('foxes.jsonl') }, { weight: 1, arbitrary: anyText }),
    text: fc
      .tuple(
        fc.constantFrom('', '\ufeff', '\r'),
        fc.array(line, { maxLength: 8 }),
        fc.constantFrom('\n', '\r\n'),
      )
      .map(([start, lines, end]) => start + lines.join(end)),
  }),
  plain: { file: 'foxes.jsonl', text: LINES.slice(0, 3).join('\n') },
  inSuite: 40,
  feed({ file, text }) {
    const parsed = parseRequestLines(text, file, ['style']);
    if (parsed.ok) return { texts: [describeBatch({ requests: parsed.requests })] };
    const bad = new BadLines(parsed.problems);
    return { texts: [bad.message, ...bad.lines], refused: true };
  },
};
