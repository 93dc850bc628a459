import { CONTAINERS, describeHead, HEAD_TO_SNIFF, sniffContainer } from '../../src/media';
import { FORMS, isForm, makeVideo } from './make-video';

const head = (hex: string, text = '') =>
  Buffer.concat([Buffer.from(hex, 'hex'), Buffer.from(text, 'latin1')]);

test.each<[what: string, head: Buffer, container: string | undefined]>([
  ['MP4', head('00000018', 'ftypmp42'), 'mp4'],
  ['a segment of MP4', head('00000018', 'stypmsdh'), 'mp4'],
  ['QuickTime', head('00000014', 'ftypqt  '), 'mov'],
  ['WebM', head('1a45dfa39f4286810142f7810142f2810442f381084282847765626d'), 'webm'],
  ['Matroska', head('1a45dfa3a34282886d6174726f736b61'), 'mkv'],
  ['EBML of another type', head('1a45dfa3a34282836162630000000000'), undefined],
  ['EBML without a type', head('1a45dfa3a3'), undefined],
  ['a text that begins with G', Buffer.from('Gone with the wind. '.repeat(100)), undefined],
  ['nothing', Buffer.alloc(0), undefined],
])('%s is recognized by its first bytes', (_what, bytes, container) => {
  expect(sniffContainer(bytes)).toBe(container);
});

test.each(Object.keys(FORMS).filter(isForm))('HEAD_TO_SNIFF bytes are enough: %s', async (form) => {
  const container = sniffContainer((await makeVideo(form)).subarray(0, HEAD_TO_SNIFF));
  expect(Object.keys(CONTAINERS)).toContain(container);
});

test.each([
  ['', 'it is empty'],
  ['\n <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN">', 'it begins like a web page'],
  ['\u00ef\u00bb\u00bf<html lang="en">', 'it begins like a web page'],
  ['<!-- Made by hand --><html>', 'it begins like a web page'],
  ['<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">', 'it begins like a web page'],
  ['<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', 'it begins like XML'],
  [' {"error": "expired"}', 'it begins like JSON'],
  ['[{"a": 1}]', 'it begins like JSON'],
  ['#EXTM3U\n', 'it begins like a playlist'],
  ['{red fox}', 'it does not begin like any known video'],
  ['\u0089PNG\r\n', 'it does not begin like any known video'],
])('a file that begins with %j: %s', (text, described) => {
  expect(describeHead(Buffer.from(text, 'latin1'))).toBe(described);
});
