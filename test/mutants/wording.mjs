/** Properties that only have words for people. */
const WORDS = ['description', 'summary'];

/** Leaves out log lines, and the summaries and descriptions that Temporal shows: other words are not another behaviour. */
export const wording = {
  shouldIgnore({ node }) {
    if (node.type === 'ObjectProperty' && WORDS.includes(node.key.name)) return 'words for the Temporal UI';
    const isLog =
      node.type === 'CallExpression' &&
      node.callee.type === 'MemberExpression' &&
      node.callee.object.name === 'log';
    return isLog ? 'a log line' : undefined;
  },
};

export const strykerPlugins = [{ kind: 'Ignore', name: 'wording', value: wording }];
