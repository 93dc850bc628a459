import { SIGNATURE } from './secrets';
import type { Case } from './targets';

/** What was found once. `npm run fuzz` prints a finding as a case to paste here. */
export const CASES: Case[] = [
  {
    target: 'requests',
    name: 'a wrong value that is a signed link is quoted without its signature',
    input: { aspect_ratio: `https://example.com/fox.png;sig=${SIGNATURE}` },
  },
  {
    target: 'requests',
    name: 'a very long field is not compared letter by letter with the known ones',
    input: { ['a'.repeat(130_000)]: 1 },
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
    target: 'settings',
    name: 'a very long variable is not compared letter by letter with the known ones',
    input: { [`VIDEOGEN_${'a'.repeat(130_000)}`]: '0' },
  },
  {
    target: 'settings',
    name: 'a bucket with very many slashes is read at once',
    input: { VIDEOGEN_STORAGE: `s3://bucket/${'/'.repeat(130_000)}x` },
  },
  {
    target: 'settings',
    name: 'an address with very many slashes is read at once',
    input: { VIDEO_API_BASE_URL: `https://example.com/${'/'.repeat(130_000)}x`, VIDEO_API_KEY: 'sk-1' },
  },
  {
    target: 'settings',
    name: 'a wrong value is quoted without control characters',
    input: { VIDEOGEN_SUBMITS_PER_SECOND: '\u001b\u2028\u001b' },
  },
  {
    target: 'command lines',
    name: 'a long unknown command is not quoted whole',
    input: [`${'a'.repeat(20_000)}batch`],
  },
  {
    target: 'command lines',
    name: 'a fault for more calls than there is memory is refused',
    input: ['emulator', '--fault', 'submit:resetx99999999999'],
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
