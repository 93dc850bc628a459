/** The executable of a tool of the tests. Without it, the error says how to get it. */
export function findTool(name: 'chromium', env?: NodeJS.ProcessEnv): string;
