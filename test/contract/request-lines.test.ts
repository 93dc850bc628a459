import { parseRequestLines } from '../../src/contract/request';

const fox = { prompt: 'A red fox' };
const owl = { prompt: 'An owl', duration: 5 };
const [foxLine, owlLine] = [JSON.stringify(fox), JSON.stringify(owl)];

function problemOf(text: string, further?: string[]): string {
  const parsed = parseRequestLines(text, 'foxes.jsonl', further);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.requests)}`);
  return parsed.problems.join('; ');
}

describe('the requests of a file', () => {
  it.each([
    ['a line each', `${foxLine}\n${owlLine}\n`],
    ['no line break at the end', `${foxLine}\n${owlLine}`],
    ['blank lines between, before and after', `\n \n${foxLine}\n\t\n\n${owlLine}\n\n`],
    ['Windows line ends', `${foxLine}\r\n\r\n${owlLine}\r\n`],
    ['a byte order mark', `\uFEFF${foxLine}\n${owlLine}\n`],
    ['a byte order mark on a line of its own', `\uFEFF\r\n${foxLine}\r\n${owlLine}`],
    ['spaces around', `  ${foxLine} \n\t${owlLine}`],
  ])('are read in their order with %s', (_what, text) => {
    expect(parseRequestLines(text, 'x')).toEqual({ ok: true, requests: [fox, owl] });
  });

  it('may contain Unicode line separators, which do not end a line of JSON', () => {
    const requests = [{ prompt: 'one\u2028two\u2029three\u0085four' }];
    expect(parseRequestLines(JSON.stringify(requests[0]), 'x')).toEqual({ ok: true, requests });
  });

  it('may contain a byte order mark, which is dropped only at the start', () => {
    const requests = [{ prompt: 'one\uFEFFtwo' }];
    expect(parseRequestLines(JSON.stringify(requests[0]), 'x')).toEqual({ ok: true, requests });
  });

  it('may have extra fields when the service accepts them', () => {
    const further = { ...fox, model: 'm1' };
    expect(parseRequestLines(JSON.stringify(further), 'x', ['model'])).toEqual({
      ok: true,
      requests: [further],
    });
    expect(problemOf(JSON.stringify(further))).toMatch(
      /^foxes\.jsonl:1: "model": not a field of the request/,
    );
  });
});

describe('a file with a mistake', () => {
  it.each(['', '\n', ' \r\n\t\n', '\uFEFF'])('has no request: %j', (text) => {
    expect(problemOf(text)).toBe('foxes.jsonl: there is no request in it');
  });

  it.each([
    ['{"prompt":', 'not a JSON object on one line'],
    ['A red fox', 'not a JSON object on one line'],
    [`${foxLine},`, 'not a JSON object on one line'],
    [`${foxLine}${owlLine}`, 'not a JSON object on one line'],
    ['[', 'not a JSON object on one line'],
    ['null', 'the request must be a JSON object with a prompt'],
    ['"A red fox"', 'the request must be a JSON object with a prompt'],
    ['[{"prompt":"A red fox"}]', 'the request must be a JSON object with a prompt'],
    ['{}', 'prompt is missing'],
    ['{"prompt":"x","duration":11}', 'duration must be at most 10 (was 11)'],
  ])('has the line %j, which is named with its problem', (line, problem) => {
    expect(problemOf(line)).toBe(`foxes.jsonl:1: ${problem}`);
  });

  it('counts lines as editors do, with blank ones', () => {
    expect(problemOf(`\uFEFF\n${foxLine}\r\n\r\nfox\n${owlLine}\n{}\n`)).toBe(
      'foxes.jsonl:4: not a JSON object on one line; foxes.jsonl:6: prompt is missing',
    );
  });

  it.each([
    [10, ''],
    [11, '; and 1 more'],
    [200, '; and 190 more'],
  ])('in %d lines names the first ten of them', (count, rest) => {
    const lines = Array.from({ length: 10 }, (_, index) => `foxes.jsonl:${index + 1}: prompt is missing`);
    expect(problemOf(`${'{}\n'.repeat(count)}${foxLine}`)).toBe(`${lines.join('; ')}${rest}`);
  });
});
