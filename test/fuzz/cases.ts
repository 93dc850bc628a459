import { SIGNATURE } from './secrets';
import type { Case } from './targets';

/** What was found once. `npm run fuzz` prints a finding as a case to paste here. */
export const CASES: Case[] = [
  {
    target: 'job inputs',
    name: 'a wrong value that is a signed link is quoted without its signature',
    input: { request: { aspect_ratio: `https://example.com/fox.png;sig=${SIGNATURE}` } },
  },
  {
    target: 'job inputs',
    name: 'a very long field is not compared letter by letter with the known ones',
    input: { request: { ['a'.repeat(130_000)]: 1 } },
  },
  {
    target: 'job inputs',
    name: 'an unknown field is named without its control characters',
    input: { '\u007f\u001bdeadline': 1, request: {} },
  },
  {
    target: 'profiles',
    name: 'the problem of a YAML file quotes it without control characters',
    input: '>\u001bname: fox\n',
  },
  {
    target: 'profiles',
    name: 'a file of many mistakes is read at once',
    input: `read:\n  taskId: ${'"'.repeat(19_000)}`,
  },
  {
    target: 'profiles',
    name: 'a file of brackets is refused before it is parsed',
    input: `name: ${'['.repeat(400_000)}`,
  },
  {
    target: 'profiles',
    name: 'the warnings of the YAML parser do not print lines of the file',
    input: '&\u001bname: fox\n',
  },
  {
    target: 'storage keys',
    name: 'a name with half a character is refused before it becomes a file name',
    input: {
      key: 'fox.mp4',
      template: 'fox.mp4',
      workflowId: '\udfff',
      taskId: 't-1',
      unchecked: false,
    },
  },
  {
    target: 'storage keys',
    name: 'a key that is refused is quoted without control characters',
    input: {
      key: '\u2028\u001bfoxes/',
      template: 'fox.mp4',
      workflowId: 'fox',
      taskId: 't-1',
      unchecked: true,
    },
  },
];
