import { codeMarkdown, plainMarkdown } from '../../src/contract/markdown';

test.each([
  ['task_1', '`task_1`'],
  ['a`b', '``a`b``'],
  ['``', '``` `` ```'],
  ['`a` ![x](y)', '`` `a` ![x](y) ``'],
  ['', '`  `'],
  ['a\n# b\u001b[2J\u202e', '`a # b `'],
])('%j is a value to the letter as %j', (text, markdown) => {
  expect(codeMarkdown(text)).toBe(markdown);
});

test.each([
  ['HTTP 429 slow down', 'HTTP 429 slow down'],
  ['<img src=x> [a](b) `c` ![d](e)', '\\<img src=x\\> \\[a\\](b) \\`c\\` \\!\\[d\\](e)'],
  ['a\n# b\u009b', 'a \\# b '],
])('%j is nothing but words as %j', (text, markdown) => {
  expect(plainMarkdown(text)).toBe(markdown);
});
